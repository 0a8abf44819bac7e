import { useEffect, useRef, useState } from "react";
import {
  quickAnswer,
  quickOf,
  type Answer,
  type Failure,
  type InterruptView,
} from "../core/index.js";
import { DenyForm, Panel } from "./DenyForm.js";

export interface BatchBarProps {
  readonly views: readonly InterruptView[];
  /** Whether everything may be sent as it is. */
  readonly ready: boolean;
  /** Why the last attempt to send came to nothing. */
  readonly failure: Failure | null;
  /** Ids that have been on the screen in full. */
  readonly shown: ReadonlySet<string>;
  /** Leads to a card that needs an answer of its own. */
  readonly onGoTo: (id: string) => void;
  /** Leads to what has not been seen of a card. */
  readonly onReadOn: (id: string) => void;
  /** Keeps an answer; says whether it was taken. */
  readonly onAnswer: (id: string, answer: Answer) => boolean;
  readonly onSend: () => void;
}

/**
 * How several questions are answered together: a yes or a no for all that have no answer of their
 * own, once each has been shown in full (V1, V2), and the one button that sends everything.
 */
export function BatchBar(props: BatchBarProps) {
  const { views, ready, failure, shown, onGoTo, onReadOn, onAnswer, onSend } = props;
  const [denying, setDenying] = useState(false);
  const outcome = useRef<HTMLParagraphElement>(null);
  const bar = useRef<HTMLDivElement>(null);

  const open = views.filter((view) => view.closed === null);
  const rest = open.filter((view) => view.phase === "open");
  const quick = rest.flatMap((view) => {
    const how = quickOf(view.interrupt);
    return how === null ? [] : [{ id: view.interrupt.id, how }];
  });
  const unseen = quick.filter(({ id }) => !shown.has(id));
  const own = rest.filter((view) => quick.every(({ id }) => id !== view.interrupt.id));
  const done = open.filter((view) => view.phase === "answered").length;
  const sending = open.some((view) => view.phase === "sending");
  useEffect(() => {
    if (failure !== null) bar.current?.scrollIntoView({ block: "nearest" });
  }, [failure]);

  const send = () => {
    outcome.current?.focus();
    onSend();
  };
  const decide = (approved: boolean, reason = "") => {
    setDenying(false);
    const refused = quick.filter(
      ({ id, how }) => !onAnswer(id, quickAnswer(how, approved, reason)),
    );
    const expired = open.filter((view) => view.phase === "expired");
    const [next] = [...refused.map(({ id }) => id), ...[...own, ...expired].map(idOf)];
    if (next === undefined) send();
    else onGoTo(next);
  };
  const deny = () => {
    if (quick.some(({ how }) => how.reason !== "none")) setDenying(true);
    else decide(false);
  };
  const which = done > 0 || own.length > 0 ? `the other ${quick.length}` : `all ${quick.length}`;
  const waiting = unseen.length > 0;

  return (
    <div className="sayso-sending" ref={bar} data-open={open.length > 0}>
      <p role="alert" className="sayso-failure">
        {failure !== null && (
          <>
            <strong>Not sent. </strong>
            {failure.message}
          </>
        )}
      </p>
      <p role="status" className="sayso-progress" tabIndex={-1} ref={outcome}>
        {sending ? "Sending…" : progressOf(open, done, own.length, quick.length, unseen.length)}
        {open.length === 0 && `${views.length} decided`}
      </p>
      {denying && (
        <Panel
          onEscape={() => {
            setDenying(false);
          }}
        >
          <DenyForm
            label={`Deny ${which}`}
            required={quick.some(({ how }) => how.reason === "required")}
            onBack={() => {
              setDenying(false);
            }}
            onDeny={(reason) => {
              decide(false, reason);
            }}
          />
        </Panel>
      )}
      <div className="sayso-actions" hidden={denying || open.length === 0 || sending}>
        {waiting && quick.length > 1 && (
          <button
            type="button"
            className="sayso-button"
            onClick={() => {
              const [first] = unseen;
              if (first !== undefined) onReadOn(first.id);
            }}
          >
            Read on
          </button>
        )}
        {quick.length > 1 && (
          <>
            <button
              type="button"
              className="sayso-button sayso-primary"
              disabled={waiting}
              onClick={() => {
                decide(true);
              }}
            >
              {`Approve ${which}`}
            </button>
            <button type="button" className="sayso-button" disabled={waiting} onClick={deny}>
              {`Deny ${which}`}
            </button>
          </>
        )}
        {(done > 0 || quick.length < 2) && (
          <button
            type="button"
            className={`sayso-button ${ready ? "sayso-primary" : ""}`}
            disabled={!ready}
            onClick={send}
          >
            {failure !== null && ready ? "Try again" : `Send ${open.length} answers`}
          </button>
        )}
      </div>
    </div>
  );
}

function idOf(view: InterruptView): string {
  return view.interrupt.id;
}

function progressOf(
  open: readonly InterruptView[],
  done: number,
  own: number,
  quick: number,
  unseen: number,
): string {
  if (open.length === 0) return "";
  const parts = [`${done} of ${open.length} answered`];
  const over = open.filter((view) => view.phase === "expired").length;
  if (unseen > 0 && quick > 1) parts.push(`${unseen} not yet seen in full`);
  if (own > 0 && quick > 0) parts.push(`${own} ${own === 1 ? "needs" : "need"} an own answer`);
  if (over > 0) parts.push(`${over} out of time: cancel ${over === 1 ? "it" : "them"}`);
  return parts.join(" · ");
}
