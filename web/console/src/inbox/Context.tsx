import { ArgumentTable, momentText, PlainText } from "@sayso/react/components";
import { personName } from "@sayso/react/core";
import { useEffect, useState, type ReactNode } from "react";
import { Link } from "react-router";
import { request, ServerError } from "../rest.js";
import { Time } from "../thread/Time.js";
import { useNow } from "../useNow.js";
import { readContext, type Did, type QuestionContext } from "./questionContext.js";
import { ageOf } from "./labels.js";

/**
 * The context of a question of another person's thread, for who decides it: the buttons never wait
 * for it. It is read anew whenever `moment` changes, and each look is in the server's audit trail.
 */
export function Context(props: {
  readonly id: string;
  readonly moment: string;
  readonly clock: () => number;
}) {
  const { id, moment, clock } = props;
  const { context, failure } = useContextOf(id, moment);
  const now = useNow(clock);
  if (context === null && failure === null) return null;
  return (
    <aside className="context" aria-label="Context">
      {context === null ? (
        <p className="sayso-quiet" role="status">
          {failure}
        </p>
      ) : (
        <Sections context={context} now={now} />
      )}
    </aside>
  );
}

function Sections({ context, now }: { readonly context: QuestionContext; readonly now: number }) {
  const { askedFor, agent, path, askedAt, request, said, did, omitted } = context;
  const { siblings, earlier, expires } = context;
  const person = askedFor ?? "the user";
  return (
    <>
      <section>
        <h2>
          Asked for <PlainText text={person} />
        </h2>
        <p className="sayso-quiet">
          <PlainText text={[agent, ...path].join(" › ")} />
          {askedAt !== null && ` · ${ageOf(Date.parse(askedAt), now)}`}
        </p>
      </section>
      {request !== null && (
        <section>
          <h2>
            <PlainText text={person} /> wrote
          </h2>
          <p className="context-text" dir="auto">
            <PlainText text={request.text} />
          </p>
        </section>
      )}
      <Part title="The agent said" count={said.length} left={omitted.said} open>
        {said.map((item, index) => (
          <p key={index} className="context-text" dir="auto">
            <PlainText text={item.text} />
          </p>
        ))}
      </Part>
      <Part title="Done so far" count={did.length} left={omitted.did}>
        <ul>
          {did.map((item, index) => (
            <Effect key={index} did={item} />
          ))}
        </ul>
      </Part>
      <Part title="Also open here" count={siblings.length}>
        <ul>
          {siblings.map((sibling) => (
            <li key={sibling.id}>
              {sibling.mayAnswer ? (
                <Link to={`/inbox/${encodeURIComponent(sibling.id)}`}>
                  <PlainText text={sibling.title} />
                </Link>
              ) : (
                <PlainText text={sibling.title} />
              )}
              {sibling.status !== "open" && <span className="sayso-quiet"> {sibling.status}</span>}
            </li>
          ))}
        </ul>
      </Part>
      <Part title="Earlier decisions" count={earlier.length}>
        <ul>
          {earlier.map((item, index) => (
            <li key={index}>
              <strong>{item.status}</strong> by <PlainText text={personName(item.by)} />{" "}
              <Time at={item.at} />
              {item.changes > 0 && <span className="sayso-quiet"> with changes</span>}
              {item.reason !== null && (
                <p className="context-text" dir="auto">
                  <PlainText text={item.reason} />
                </p>
              )}
            </li>
          ))}
        </ul>
      </Part>
      {expires !== null && (
        <section>
          <h2>Deadline</h2>
          <p className={expires.then === "approve" ? "context-runs" : undefined}>
            {thenOf(expires)}
          </p>
        </section>
      )}
    </>
  );
}

/** A part that is left out when it is empty; in the margin it is open, below the card it is not. */
function Part(props: {
  readonly title: string;
  readonly count: number;
  readonly left?: number;
  readonly open?: boolean;
  readonly children: ReactNode;
}) {
  const { title, count, left = 0, open = false, children } = props;
  if (count + left === 0) return null;
  return (
    <details open={open || isWide()}>
      <summary>
        {title} <span className="sayso-quiet">{count + left}</span>
      </summary>
      {left > 0 && <p className="sayso-quiet">{left} older not shown</p>}
      {children}
    </details>
  );
}

function Effect({ did }: { readonly did: Did }) {
  const { name, status, effect, args, result } = did;
  const writes = effect !== null && effect !== "read";
  return (
    <li data-writes={writes}>
      <code>
        <PlainText text={name} />
      </code>{" "}
      <span className="sayso-quiet">
        {status}
        {writes && ` · ${effect}`}
      </span>
      {args !== undefined && <ArgumentTable value={args} label={`Arguments of ${name}`} />}
      {typeof result === "string" && (
        <p className="context-text" dir="auto">
          <PlainText text={result} />
        </p>
      )}
      {typeof result === "object" && result !== null && (
        <ArgumentTable value={result} label={`Result of ${name}`} />
      )}
    </li>
  );
}

/** The context of a question, and why there is none. */
function useContextOf(id: string, moment: string) {
  const [read, setRead] = useState<{
    readonly id: string;
    readonly context: QuestionContext | null;
    readonly failure: string | null;
  } | null>(null);
  useEffect(() => {
    const over = new AbortController();
    const get = async () => {
      try {
        const value = await request(`interrupts/${encodeURIComponent(id)}/context`, {
          signal: over.signal,
        });
        setRead({ id, context: readContext(value), failure: null });
      } catch (error) {
        if (over.signal.aborted) return;
        // What was read stays; a server without contexts, or a question gone, says nothing.
        setRead((before) =>
          before?.id === id && before.context !== null
            ? before
            : { id, context: null, failure: whyNot(error) },
        );
      }
    };
    void get();
    return () => {
      over.abort();
    };
  }, [id, moment]);
  return read?.id === id ? read : { context: null, failure: null };
}

function whyNot(error: unknown): string | null {
  if (!(error instanceof ServerError) || error.status === 404 || error.status === 401) return null;
  if (error.code === "thread_busy")
    return "The agent is working. The context appears when it stops.";
  return `The context cannot be shown. ${error.message}`;
}

function thenOf({ at, then }: { readonly at: string; readonly then: string }): string {
  const time = momentText(Date.parse(at));
  switch (then) {
    case "approve":
      return `At ${time} it runs by itself.`;
    case "deny":
      return `At ${time} it counts as denied.`;
    case "hold":
      return `After ${time} it can only be withdrawn.`;
    default:
      return `If nobody decides by ${time}, nothing runs. The agent is told so.`;
  }
}

function isWide(): boolean {
  return typeof matchMedia === "function" && matchMedia("(width >= 1280px)").matches;
}
