"use client";

import { useCallback, useEffect, useId, useMemo, useRef, useState, type RefObject } from "react";
import { insteadAt } from "../core/breakpoint.js";
import { briefingOf, permitsOf } from "../core/briefing.js";
import { asRecord } from "../core/json.js";
import { withoutMarked } from "../core/secrets.js";
import {
  argsAsObject,
  elsewhereOf,
  expiryOf,
  labelOf,
  personName,
  subagentPath,
  rightsOf,
  shapeOf,
  subjectOf,
  unclearOf,
  unclearSchema,
  type Answer,
  type CallView,
  type InterruptView,
  type Rights,
} from "../core/index.js";
import { ChoiceBody, FormBody, TextBody } from "./AnswerBodies.js";
import { ApprovalBody, CancelButton } from "./ApprovalBody.js";
import { ArgumentTable } from "./ArgumentTable.js";
import { Agreed, Beside, Unfilled } from "./Beside.js";
import { BriefingView } from "./BriefingView.js";
import { ButtonsBody } from "./ButtonsBody.js";
import { Countdown } from "./Countdown.js";
import { ElsewhereView } from "./ElsewhereView.js";
import { Fold, FoldContext } from "./Fold.js";
import { CardDraftProvider } from "./formDrafts.js";
import { messageOf } from "./message.js";
import { OwnBody, ownCard, type Cards } from "./ownCards.js";
import { changesOf, outcomeOf } from "./outcome.js";
import { PlainText, plainText } from "./PlainText.js";
import { ReadingContext, type Reading } from "./ReadFirst.js";
import { readNext } from "./reading.js";
import { Secrets } from "./reveal.js";
import { useSignInAgain } from "./signInAgain.js";
import { ResultLine } from "./ResultLine.js";
import { SendingIn } from "./SendingIn.js";
import { UnclearView } from "./UnclearView.js";
import { useFullyVisible } from "./useFullyVisible.js";

export interface InterruptCardProps {
  readonly view: InterruptView;
  /** The tool call it is about, when the client has it. */
  readonly call: CallView | null;
  readonly clock: () => number;
  /** Its place among several that were asked together. */
  readonly place?: { readonly index: number; readonly total: number };
  readonly onAnswer: (answer: Answer) => void;
  /** Takes the answer back, so that another one can be given. */
  readonly onWithdraw: () => void;
  /** Sends at once what is about to be sent by itself; `onWithdraw` undoes that. */
  readonly onSendNow?: () => void;
  /** Takes back what this reader has told the server; without it, that is not offered. */
  readonly onTakeBack?: () => void;
  /** The note beside an answer that is not settled yet. Default "not sent yet". */
  readonly note?: string;
  /** Shows long values in full, instead of their beginning. */
  readonly unfolded?: boolean;
  /** Called once the whole card has been on the screen with nothing folded away. */
  readonly onShown?: () => void;
  /** Cards of one's own, by the name of the tool, or by reason. */
  readonly cards?: Cards;
}

/**
 * One question to a person, whatever its reason. The card stays the same element from question to
 * outcome, so that focus and screen readers follow it: after a decision the focus is on the outcome.
 */
export function InterruptCard(props: InterruptCardProps) {
  const { view, call, clock, place, onAnswer, onWithdraw, onTakeBack } = props;
  const { onSendNow, note = "not sent yet", unfolded = false, onShown, cards } = props;
  const { interrupt, phase, closed, sendAt = null } = view;
  const id = useId();
  const outcomeLine = useRef<HTMLParagraphElement>(null);
  const undo = useRef<HTMLButtonElement>(null);
  const waited = useRef(false);
  const decided = useRef(false);
  const outcome = outcomeOf(view, call, true);
  const until = expiryOf(interrupt);
  const briefing = useMemo(() => briefingOf(interrupt, call), [interrupt, call]);
  const unclear = useMemo(() => unclearOf(interrupt), [interrupt]);
  const there = useMemo(() => elsewhereOf(interrupt), [interrupt]);
  const label = plainText(labelOf(interrupt));
  const subject = subjectOf(interrupt, call);
  const rights = useMemo(() => rightsOf(interrupt), [interrupt]);
  const waits = !rights.answer || (rights.heldBy !== null && phase === "open");
  const message = messageOf(interrupt, call);
  const origin = useMemo(() => subagentPath(interrupt).join(" › "), [interrupt]);
  const [folded, setFolded] = useState(0);
  // Also at hand before the card is drawn anew: its end may be on the screen by then.
  const foldedNow = useRef(0);
  const onFolded = useCallback(() => {
    const count = (by: number) => {
      foldedNow.current += by;
      setFolded(foldedNow.current);
    };
    count(1);
    return () => {
      count(-1);
    };
  }, []);
  const card = useRef<HTMLElement>(null);
  // Each asking is read anew: what it is about may be other than before.
  const [seen, setSeen] = useState<{ readonly asked: number; readonly end: boolean } | null>(null);
  const [opened, setOpened] = useState(false);
  const all = unfolded || opened;
  const folding = useMemo(() => ({ unfolded: all, onFolded }), [all, onFolded]);
  const end = useFullyVisible(folded === 0, view.asked, (shown) => {
    if (foldedNow.current > 0) return;
    setSeen({ asked: view.asked, end: shown });
    if (shown) onShown?.();
  });
  const stored = seen?.asked === view.asked ? seen.end : null;
  const status: Reading["status"] =
    stored === true ? "read" : folded > 0 || stored === false ? "unread" : "unknown";
  const reading = useMemo(
    () => ({
      status,
      readNext: () => {
        setOpened(true);
        readNext(card.current ?? undefined);
      },
    }),
    [status],
  );
  const own = ownCard(cards, interrupt, call);
  // One's own card says all of it while it asks; what became of it is said as everywhere.
  const said = own === null || phase !== "open" || waits;

  const answer = (input: Answer) => {
    decided.current = true;
    onAnswer(input);
  };
  useEffect(() => {
    if (!decided.current) return;
    if (sendAt !== null) {
      if (!waited.current) undo.current?.focus();
      waited.current = true;
      return;
    }
    if (phase === "open" && !waited.current) return;
    const { activeElement } = document;
    // After a wait the reader may be elsewhere by now; what was undone is asked again.
    if (!waited.current || activeElement === document.body || isIn(card, activeElement)) {
      (phase === "open" ? card : outcomeLine).current?.focus();
    }
    decided.current = waited.current = false;
  }, [phase, sendAt]);

  return (
    <section
      ref={card}
      className="sayso-card"
      data-state={phase}
      data-tone={outcome?.tone ?? "open"}
      data-reason={interrupt.reason}
      tabIndex={-1}
      aria-labelledby={`${id}-title`}
    >
      <header className="sayso-head">
        <h2 id={`${id}-title`} className="sayso-title" tabIndex={-1}>
          <span className="sayso-label">
            {label}
            {place !== undefined && ` ${place.index + 1} of ${place.total}`}
            {origin !== "" && (
              <>
                {", asked by "}
                <PlainText text={origin} />
              </>
            )}
          </span>{" "}
          {subject !== null && (
            <code>
              <PlainText text={subject} />
            </code>
          )}
        </h2>
        {until !== null && closed === null && (
          <Countdown until={until} since={view.askedAt ?? null} clock={clock} />
        )}
      </header>
      <FoldContext.Provider value={folding}>
        {said && briefing !== null && (
          <BriefingView briefing={briefing} closed={phase === "closed"} />
        )}
        {said && briefing === null && message !== null && (
          <Fold text={message}>
            <p className="sayso-message" dir="auto">
              <PlainText text={message} />
            </p>
          </Fold>
        )}
        {said && there !== null && (
          <ElsewhereView elsewhere={there} leads={phase === "open" && closed === null && !waits} />
        )}
        {said && unclear === null && call !== null && <Arguments call={call} view={view} />}
        {phase === "open" && closed === null && <Secrets interrupt={interrupt} />}
        {said && unclear !== null && phase !== "closed" && <UnclearView unclear={unclear} />}
        {said && unclear !== null && phase === "closed" && (
          <details className="sayso-details">
            <summary>What was started</summary>
            <UnclearView unclear={unclear} />
          </details>
        )}
        {phase === "open" && <Unfilled interrupt={interrupt} />}
        {closed === null && <Agreed interrupt={interrupt} />}
        {said && <Beside interrupt={interrupt} answer={phase === "open" ? null : view.answer} />}
      </FoldContext.Provider>
      <span className="sayso-end" aria-hidden="true" ref={end} />
      {closed === null && phase === "open" && waits && (
        <Waits
          rights={rights}
          deed={shapeOf(interrupt).kind === "approval" ? "approve" : "answer"}
          withdrawn={view.withdrawn ?? []}
          onAnswer={answer}
          onTakeBack={onTakeBack}
        />
      )}
      {closed === null && !waits && (
        <div className="sayso-body" key={view.asked} hidden={phase !== "open"}>
          <CardDraftProvider interrupt={interrupt} open={phase === "open" || sendAt !== null}>
            {own === null ? (
              <ReadingContext.Provider value={reading}>
                <FoldContext.Provider value={folding}>
                  <Body view={view} call={call} onAnswer={answer} />
                </FoldContext.Provider>
              </ReadingContext.Provider>
            ) : (
              <OwnBody card={own} view={view} call={call} onAnswer={answer} />
            )}
          </CardDraftProvider>
        </div>
      )}
      <div className="sayso-foot">
        <p className="sayso-outcome" role="status" tabIndex={-1} ref={outcomeLine}>
          {outcome !== null && (
            <>
              <strong>
                <PlainText text={outcome.title} />
              </strong>
              {outcome.detail !== null && (
                <>
                  {" "}
                  <span dir="auto">
                    <PlainText text={outcome.detail} />
                  </span>
                </>
              )}
              {phase === "answered" && sendAt === null && (
                <span className="sayso-quiet">{` · ${note}`}</span>
              )}
              {sendAt !== null && <SendingIn at={sendAt} clock={clock} />}
            </>
          )}
        </p>
        {phase === "expired" && <CancelButton onAnswer={answer} />}
        {phase === "answered" && sendAt === null && (
          <button type="button" className="sayso-button sayso-small" onClick={onWithdraw}>
            Change
          </button>
        )}
        {sendAt !== null && (
          <>
            <button
              type="button"
              className="sayso-button sayso-small"
              ref={undo}
              onClick={onWithdraw}
            >
              Undo
            </button>
            {onSendNow !== undefined && (
              <button type="button" className="sayso-button sayso-small" onClick={onSendNow}>
                Send now
              </button>
            )}
          </>
        )}
      </div>
      <ResultLine view={view} clock={clock} />
    </section>
  );
}

function isIn(part: RefObject<Element | null>, element: Element | null): boolean {
  return part.current?.contains(element) === true;
}

/** Shown to who may not answer, or has: whom it waits for, and the way out. */
function Waits(props: {
  readonly rights: Rights;
  readonly deed: string;
  readonly withdrawn: readonly string[];
  readonly onAnswer: (answer: Answer) => void;
  readonly onTakeBack: (() => void) | undefined;
}) {
  const { rights, deed, withdrawn, onAnswer, onTakeBack } = props;
  const signIn = useSignInAgain();
  const asks = [
    rights.youAgreed ? "You approved" : null,
    rights.signIn
      ? signIn === null
        ? "Sign in again to answer this"
        : "This takes a recent sign-in"
      : `${rights.youAgreed ? "waits" : "Waits"} for ${rights.waitsFor ?? "others"}`,
    rights.youAsked ? "not you, since you asked" : null,
    rights.agreed.length > 0 && !rights.youAgreed
      ? `approved by ${rights.agreed.map(personName).join(", ")}`
      : null,
  ];
  const kept = [
    rights.youAgreed
      ? "Your answer is saved"
      : `Answered by ${personName(rights.heldBy ?? "others")}`,
    "continues once the other questions are answered",
  ];
  const parts = rights.heldBy === null ? asks : kept;
  return (
    <div className="sayso-body sayso-waits">
      <p>
        <PlainText text={parts.filter((part) => part !== null).join(" · ")} />
      </p>
      {withdrawn.length > 0 && (
        <p role="status">
          <PlainText
            text={`${withdrawn.join(", ")} approved an earlier version, so that no longer counts`}
          />
        </p>
      )}
      <div className="sayso-actions">
        {rights.signIn && signIn !== null && (
          <button
            type="button"
            className="sayso-button sayso-primary"
            onClick={() => {
              signIn(rights.signInSeconds ?? 0);
            }}
          >
            Sign in again to {deed}
          </button>
        )}
        {rights.takeBack && onTakeBack !== undefined && (
          <button type="button" className="sayso-button sayso-small" onClick={onTakeBack}>
            Take back
          </button>
        )}
        {rights.cancel && !rights.youAgreed && rights.heldBy === null && (
          <button
            type="button"
            className="sayso-button sayso-plain"
            title="The agent is told that nobody decided"
            onClick={() => {
              onAnswer({ status: "cancelled" });
            }}
          >
            Withdraw request
          </button>
        )}
      </div>
    </div>
  );
}

function Body(props: {
  readonly view: InterruptView;
  readonly call: CallView | null;
  readonly onAnswer: (answer: Answer) => void;
}) {
  const { view, call, onAnswer } = props;
  const { problems, interrupt, answer } = view;
  const shape = shapeOf(interrupt);
  const common = { problems, onAnswer };
  switch (shape.kind) {
    case "approval":
      return <ApprovalBody shape={shape} args={argsAsObject(call)} {...common} />;
    case "choice":
      if (interrupt.reason === "sayso:elsewhere") {
        return <ButtonsBody shape={shape} primary={elsewhereOf(interrupt) === null} {...common} />;
      }
      if (interrupt.reason === "sayso:breakpoint") {
        return <ButtonsBody shape={shape} instead={insteadAt(interrupt)} {...common} />;
      }
      return unclearOf(interrupt) === null ? (
        <ChoiceBody
          shape={shape}
          schema={asRecord(interrupt.responseSchema) ?? {}}
          permits={permitsOf(interrupt)}
          readFirst={interrupt.reason === "sayso:decision"}
          {...common}
        />
      ) : (
        <ChoiceBody
          shape={shape}
          schema={unclearSchema(asRecord(interrupt.responseSchema) ?? {})}
          none={{ member: "result", label: "There is no result" }}
          readFirst={true}
          {...common}
        />
      );
    case "form": {
      const input = answer?.status === "resolved" ? answer.payload : undefined;
      return <FormBody schema={shape.schema} value={input} {...common} />;
    }
    case "text":
      return <TextBody {...common} />;
    default:
      return shape satisfies never;
  }
}

/** The arguments of an answer that differ, without what was typed anew of their secrets. */
function shownChanges({ interrupt, answer }: InterruptView, call: CallView): unknown {
  const changes = changesOf(answer, call);
  const shape = shapeOf(interrupt);
  if (changes === undefined || shape.kind !== "approval") return changes;
  return shape.edit === null ? changes : withoutMarked(changes, shape.edit);
}

/** The arguments that will run, or ran: edits replace the proposed ones as a whole (TB-05). */
function Arguments({ call, view }: { readonly call: CallView; readonly view: InterruptView }) {
  const edited = view.phase === "open" ? undefined : shownChanges(view, call);
  const table =
    edited === undefined && call.args === undefined ? (
      <>
        <p className="sayso-quiet">
          These arguments are not valid JSON. They are shown as they came.
        </p>
        <Fold text={call.text}>
          <pre className="sayso-json">
            <PlainText text={call.text} />
          </pre>
        </Fold>
      </>
    ) : (
      <ArgumentTable value={edited ?? call.args} label={`Arguments of ${plainText(call.name)}`} />
    );
  if (view.phase !== "closed") return table;
  return (
    <details className="sayso-details">
      <summary>{edited === undefined ? "Arguments" : "Edited arguments"}</summary>
      {table}
    </details>
  );
}
