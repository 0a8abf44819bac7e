import { useCallback, useEffect, useId, useMemo, useRef, useState } from "react";
import { briefingOf } from "../core/briefing.js";
import { asRecord } from "../core/json.js";
import {
  argsAsObject,
  expiryOf,
  originOf,
  shapeOf,
  type Answer,
  type CallView,
  type InterruptView,
} from "../core/index.js";
import { ButtonsBody, ChoiceBody, FormBody, TextBody } from "./AnswerBodies.js";
import { ApprovalBody, CancelButton } from "./ApprovalBody.js";
import { ArgumentTable } from "./ArgumentTable.js";
import { BriefingView } from "./BriefingView.js";
import { Countdown } from "./Countdown.js";
import { Fold, FoldContext } from "./Fold.js";
import { KeptFields } from "./kept.js";
import { messageOf } from "./message.js";
import { outcomeOf } from "./outcome.js";
import { PlainText } from "./PlainText.js";
import { useShown } from "./useShown.js";

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
  /** What is said beside an answer that is not settled yet. Default "not sent yet". */
  readonly note?: string;
  /** Shows long values in full, instead of their beginning. */
  readonly unfolded?: boolean;
  /** Called once the whole card has been on the screen with nothing folded away. */
  readonly onShown?: () => void;
}

const LABELS: Readonly<Record<string, string>> = {
  tool_call: "Approval",
  confirmation: "Confirmation",
  input_required: "Input needed",
  "sayso:indeterminate": "Unclear outcome",
  "sayso:decision": "Decision",
  "sayso:breakpoint": "Breakpoint",
};

/**
 * One question to a person, whatever its reason. The card stays the same element from question to
 * outcome, so that focus and screen readers follow it: after a decision the focus is on the outcome.
 */
export function InterruptCard(props: InterruptCardProps) {
  const { view, call, clock, place, onAnswer, onWithdraw } = props;
  const { note = "not sent yet", unfolded = false, onShown } = props;
  const { interrupt, phase, closed } = view;
  const id = useId();
  const outcomeLine = useRef<HTMLParagraphElement>(null);
  const decided = useRef(false);
  const outcome = outcomeOf(view);
  const until = expiryOf(interrupt);
  const briefing = useMemo(() => briefingOf(interrupt), [interrupt]);
  const label =
    briefing?.kind === "clarification"
      ? "Before it begins"
      : (LABELS[interrupt.reason] ?? interrupt.reason);
  const message = messageOf(interrupt, call);
  const origin = useMemo(() => originOf(interrupt).join(" › "), [interrupt]);
  const [folded, setFolded] = useState(0);
  const onFolded = useCallback(() => {
    setFolded((count) => count + 1);
    return () => {
      setFolded((count) => count - 1);
    };
  }, []);
  const folding = useMemo(() => ({ unfolded, onFolded }), [unfolded, onFolded]);
  const end = useShown(folded === 0, onShown);

  const answer = (given: Answer) => {
    decided.current = true;
    onAnswer(given);
  };
  useEffect(() => {
    if (!decided.current || phase === "open") return;
    decided.current = false;
    outcomeLine.current?.focus();
  }, [phase]);

  return (
    <section
      className="sayso-card"
      data-state={phase}
      data-tone={outcome?.tone ?? "open"}
      data-reason={interrupt.reason}
      tabIndex={-1}
      aria-labelledby={`${id}-title`}
    >
      <header className="sayso-head">
        <h2 id={`${id}-title`} className="sayso-title">
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
          {call !== null && (
            <code>
              <PlainText text={call.name} />
            </code>
          )}
        </h2>
        {until !== null && closed === null && <Countdown until={until} clock={clock} />}
      </header>
      <FoldContext.Provider value={folding}>
        {briefing !== null && <BriefingView briefing={briefing} closed={phase === "closed"} />}
        {briefing === null && message !== null && (
          <Fold text={message}>
            <p className="sayso-message" dir="auto">
              <PlainText text={message} />
            </p>
          </Fold>
        )}
        {call !== null && <Arguments call={call} view={view} />}
      </FoldContext.Provider>
      <span className="sayso-end" aria-hidden="true" ref={end} />
      {closed === null && (
        <div className="sayso-body" key={view.asked} hidden={phase !== "open"}>
          <KeptFields interrupt={interrupt} open={phase === "open"}>
            <Body view={view} call={call} onAnswer={answer} />
          </KeptFields>
        </div>
      )}
      <div className="sayso-foot">
        <p className="sayso-outcome" role="status" tabIndex={-1} ref={outcomeLine}>
          {outcome !== null && (
            <>
              <strong>{outcome.title}</strong>
              {outcome.detail !== null && <span dir="auto">{outcome.detail}</span>}
              {phase === "answered" && <span className="sayso-quiet">{` · ${note}`}</span>}
            </>
          )}
        </p>
        {phase === "expired" && <CancelButton onAnswer={answer} />}
        {phase === "answered" && (
          <button type="button" className="sayso-button sayso-small" onClick={onWithdraw}>
            Change
          </button>
        )}
      </div>
    </section>
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
    case "decision":
      return <ApprovalBody shape={shape} args={argsAsObject(call)} {...common} />;
    case "choice":
      if (interrupt.reason === "sayso:breakpoint") return <ButtonsBody shape={shape} {...common} />;
      return (
        <ChoiceBody shape={shape} schema={asRecord(interrupt.responseSchema) ?? {}} {...common} />
      );
    case "form": {
      const given = answer?.status === "resolved" ? answer.payload : undefined;
      return <FormBody schema={shape.schema} value={given} {...common} />;
    }
    case "text":
      return <TextBody {...common} />;
    default:
      return shape satisfies never;
  }
}

/** What will run, or what ran: edited arguments replace the proposed ones as a whole (TB-05). */
function Arguments({ call, view }: { readonly call: CallView; readonly view: InterruptView }) {
  const given =
    view.phase !== "open" && view.answer?.status === "resolved"
      ? asRecord(view.answer.payload)
      : undefined;
  const edited = given !== undefined && "editedArgs" in given ? given.editedArgs : undefined;
  const table =
    edited === undefined && call.args === undefined ? (
      <>
        <p className="sayso-quiet">
          These arguments are not valid JSON; this is the text as it came.
        </p>
        <Fold text={call.text}>
          <pre className="sayso-json">
            <PlainText text={call.text} />
          </pre>
        </Fold>
      </>
    ) : (
      <ArgumentTable value={edited ?? call.args} label={`Arguments of ${call.name}`} />
    );
  if (view.phase !== "closed") return table;
  return (
    <details className="sayso-details">
      <summary>{edited === undefined ? "Arguments" : "Arguments as changed"}</summary>
      {table}
    </details>
  );
}
