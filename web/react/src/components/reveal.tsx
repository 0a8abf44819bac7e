"use client";

import { createContext, useContext, useState, type ReactNode } from "react";
import {
  failureText,
  revealsOf,
  writeJson,
  type Failure,
  type Interrupt,
  type Reply,
} from "../core/index.js";
import { PlainText, plainText } from "./PlainText.js";

/** Asks the server for a secret of a call, at a JSON Pointer into its arguments. */
export type Reveal = (interruptId: string, pointer: string) => Promise<Reply<unknown>>;

const NOT_SHOWN: Omit<Failure, "message"> = {
  kind: "network",
  code: null,
  problems: {},
  named: {},
};

const RevealContext = createContext<Reveal | null>(null);

/** Lets the cards below it show secrets to whoever may answer; without it they only say "not shown". */
export function RevealProvider(props: { readonly onReveal: Reveal; readonly children: ReactNode }) {
  return <RevealContext.Provider value={props.onReveal}>{props.children}</RevealContext.Provider>;
}

/** The secrets of a call that may be shown. Nothing of them outlives the card. */
export function Secrets({ interrupt }: { readonly interrupt: Interrupt }) {
  const reveal = useContext(RevealContext);
  const pointers = revealsOf(interrupt);
  if (reveal === null || pointers.length === 0) return null;
  return (
    <ul className="sayso-secrets" aria-label="Secrets">
      {pointers.map((pointer) => (
        <Secret
          key={pointer}
          name={plainText(pointer.slice(1))}
          ask={() => reveal(interrupt.id, pointer)}
        />
      ))}
    </ul>
  );
}

function Secret(props: { readonly name: string; readonly ask: () => Promise<Reply<unknown>> }) {
  const [reply, setReply] = useState<Reply<unknown> | null>(null);
  const [asking, setAsking] = useState(false);
  const show = async () => {
    if (asking) return;
    setAsking(true);
    try {
      setReply(await props.ask());
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      setReply({ ok: false, failure: { ...NOT_SHOWN, message: `It cannot be shown: ${why}` } });
    } finally {
      setAsking(false);
    }
  };
  const shown = reply?.ok === true;
  return (
    <li>
      <code>
        <PlainText text={props.name} />
      </code>{" "}
      <span role="status">
        {reply?.ok === true && (
          <span className="sayso-text" dir="auto">
            <PlainText
              text={typeof reply.value === "string" ? reply.value : writeJson(reply.value)}
            />
          </span>
        )}
        {reply?.ok === false && <PlainText text={failureText(reply.failure)} />}
      </span>
      <button
        type="button"
        className="sayso-button sayso-small"
        // Whoever pressed it stays on it while the server is asked.
        aria-disabled={asking}
        aria-label={`${shown ? "Hide" : "Show"} ${props.name}`}
        onClick={() => {
          if (shown) setReply(null);
          else void show();
        }}
      >
        {shown ? "Hide" : "Show"}
      </button>
    </li>
  );
}
