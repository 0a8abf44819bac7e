"use client";

import { useEffect, useRef, useState } from "react";
import {
  canRetry,
  failureText,
  quickAnswer,
  quickOf,
  rightsOf,
  type Answer,
  type Failure,
  type InterruptView,
} from "../core/index.js";
import { DenyForm, Panel } from "./DenyForm.js";
import { plainText } from "./PlainText.js";
import { ReadOnButton } from "./ReadOnButton.js";
import { SignInToSend } from "./signInAgain.js";

export interface BatchBarProps {
  readonly views: readonly InterruptView[];
  /** True if everything may be sent as it is. */
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
 * How several questions are answered together: a yes for all that have no answer of their own, once
 * each has been shown in full (V1, V2), or a no at any time, and the one button that sends everything.
 */
export function BatchBar(props: BatchBarProps) {
  const { views, ready, failure, shown, onGoTo, onReadOn, onAnswer, onSend } = props;
  const [denying, setDenying] = useState(false);
  const outcome = useRef<HTMLParagraphElement>(null);
  const bar = useRef<HTMLDivElement>(null);

  const open = views.filter((view) => view.closed === null);
  // Nothing more is needed where others decide, or where the answer is at the server.
  const mine = open.filter(
    (view) => view.answer !== null || (rightsOf(view.interrupt).answer && !isKept(view)),
  );
  const theirs = open.filter((view) => !mine.includes(view) && !isKept(view)).length;
  const rest = mine.filter((view) => view.phase === "open");
  const quick = rest.flatMap((view) => {
    const how = quickOf(view.interrupt);
    return how === null ? [] : [{ id: view.interrupt.id, how }];
  });
  const unseen = quick.filter(({ id }) => !shown.has(id));
  const own = rest.filter((view) => quick.every(({ id }) => id !== view.interrupt.id));
  const done = mine.filter((view) => view.phase === "answered").length;
  const answers = open.map((view) => view.answer);
  const [refused, setRefused] = useState({ failure, answers });
  if (refused.failure !== failure) setRefused({ failure, answers });
  const changed = answers.some((answer, index) => answer !== refused.answers[index]);
  // An answer that the server refuses for good is not sent again before one of them has changed.
  const sendable = failure === null || canRetry(failure) || changed;
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
    const expired = mine.filter((view) => view.phase === "expired");
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
            {plainText(failureText(failure))}
          </>
        )}
      </p>
      <p role="status" className="sayso-progress" tabIndex={-1} ref={outcome}>
        {sending ? "Sending…" : progressOf(mine, done, own.length, quick.length, unseen.length)}
        {!sending && theirs > 0 && `${mine.length > 0 ? " · " : ""}${theirs} waiting for others`}
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
            <button type="button" className="sayso-button" onClick={deny}>
              {`Deny ${which}`}
            </button>
            <ReadOnButton
              label="Next unread"
              unread={waiting}
              onPress={() => {
                const [first] = unseen;
                if (first !== undefined) onReadOn(first.id);
              }}
            />
          </>
        )}
        <SignInToSend failure={failure} interrupts={mine.map((view) => view.interrupt)} />
        {sendable && mine.length > 0 && (done > 0 || quick.length < 2) && (
          <button
            type="button"
            className={`sayso-button ${ready ? "sayso-primary" : ""}`}
            disabled={!ready}
            onClick={send}
          >
            {failure !== null && ready && !changed
              ? "Try again"
              : sendLabel(mine.length, open.length)}
          </button>
        )}
      </div>
    </div>
  );
}

function idOf(view: InterruptView): string {
  return view.interrupt.id;
}

/** True if an answer to it is kept at the server until the others of its set are there. */
function isKept(view: InterruptView): boolean {
  return view.answer === null && rightsOf(view.interrupt).heldBy !== null;
}

function sendLabel(mine: number, open: number): string {
  if (mine === 1) return open === 1 ? "Send 1 answer" : "Send your answer";
  return mine === open ? `Send ${open} answers` : `Send your ${mine} answers`;
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
  if (unseen > 0 && quick > 1) parts.push(`${unseen} not fully read`);
  if (own > 0 && quick > 0)
    parts.push(own === 1 ? "1 needs its own answer" : `${own} need individual answers`);
  if (over > 0) parts.push(`${over} expired: withdraw ${over === 1 ? "it" : "them"}`);
  return parts.join(" · ");
}
