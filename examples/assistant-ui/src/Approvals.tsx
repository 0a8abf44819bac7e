import { useAgUiInterrupts, useAgUiSubmitInterruptResponses } from "@assistant-ui/react-ag-ui";
import type { AgUiInterrupt, AgUiResumeEntry } from "@assistant-ui/react-ag-ui";
import { useState } from "react";

import { Fields } from "./Fields";
import { settings } from "./settings";

// Every open question. AG-UI sends all answers together once each question has one, so what was
// answered already says so and waits for the others.
export function Approvals() {
  const interrupts = useAgUiInterrupts();
  const isOwn = settings.own && interrupts.every(isBoundCall);
  if (interrupts.length === 0 || isOwn) return null;
  // The server asks what it could not take again under the same ids, with a new problem.
  const key = interrupts.map((one) => `${one.id} ${problemOf(one)?.id}`).join();
  return <Cards key={key} interrupts={interrupts} />;
}

function Cards({ interrupts }: { interrupts: readonly AgUiInterrupt[] }) {
  const submit = useAgUiSubmitInterruptResponses();
  const [given, setGiven] = useState<Readonly<Record<string, AgUiResumeEntry>>>({});
  const give = (entry: AgUiResumeEntry) => {
    const all = { ...given, [entry.interruptId]: entry };
    setGiven(all);
    // What it rejects with was told to the runtime's `onError` before.
    if (interrupts.every(({ id }) => id in all)) submit(Object.values(all)).catch(() => undefined);
  };
  return (
    <div className="cards" role="group" aria-label="Open questions">
      {interrupts.map((interrupt) => (
        <Card
          key={interrupt.id}
          interrupt={interrupt}
          given={given[interrupt.id]}
          resolve={(payload) => give({ interruptId: interrupt.id, status: "resolved", payload })}
          cancel={() => give({ interruptId: interrupt.id, status: "cancelled" })}
        />
      ))}
    </div>
  );
}

interface Asked {
  interrupt: AgUiInterrupt;
  given: AgUiResumeEntry | undefined;
  resolve: (payload: unknown) => void;
  cancel: () => void;
}

function Card({ interrupt, given, resolve, cancel }: Asked) {
  const [edits, setEdits] = useState(false);
  const problem = problemOf(interrupt);
  const properties = (interrupt.responseSchema?.["properties"] ?? {}) as Record<string, unknown>;
  return (
    <article className="card" aria-label={interrupt.message ?? "A question"}>
      <p>{interrupt.message ?? "The agent waits for you."}</p>
      {problem ? <p role="alert">{linesOf(problem).join("\n")}</p> : null}
      {given ? (
        <p role="status">{wordFor(given)}</p>
      ) : "approved" in properties ? (
        <div className="row">
          <button onClick={() => resolve({ approved: true })}>Approve</button>
          {"editedArgs" in properties ? (
            <button onClick={() => setEdits(!edits)} aria-expanded={edits}>
              Edit
            </button>
          ) : null}
          <button onClick={() => resolve({ approved: false })}>Deny</button>
        </div>
      ) : (
        <Fields schema={interrupt.responseSchema} send={resolve} />
      )}
      {edits && !given ? (
        <Edited
          args={sayso(interrupt)?.arguments}
          send={(editedArgs) => resolve({ approved: true, editedArgs })}
        />
      ) : null}
      {given ? null : (
        <button className="plain" onClick={cancel}>
          Cancel
        </button>
      )}
    </article>
  );
}

// The arguments of a call as JSON, to be changed by who approves it.
function Edited({ args, send }: { args: unknown; send: (args: unknown) => void }) {
  const [text, setText] = useState(JSON.stringify(args, null, 2));
  const value = parsed(text);
  return (
    <>
      <label>
        Arguments
        <textarea rows={5} value={text} onChange={(event) => setText(event.target.value)} />
      </label>
      <button disabled={value === undefined} onClick={() => send(value)}>
        Approve with changes
      </button>
    </>
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

interface Problem {
  id: string;
  message: string;
  problems?: { pointer: string; message: string }[];
}

const sayso = (interrupt: AgUiInterrupt) =>
  interrupt.metadata?.["sayso"] as { problem?: Problem; arguments?: unknown } | undefined;

// Why the last answer was not taken. Its id is another one each time.
const problemOf = (interrupt: AgUiInterrupt) => sayso(interrupt)?.problem;

const linesOf = ({ message, problems }: Problem): string[] =>
  problems?.map((one) => `${one.pointer.slice(1)} ${one.message}`.trim()) ?? [message];

// A refusal is shown with a message of its own, which has no call to hang Approve and Deny on.
const isBoundCall = (one: AgUiInterrupt) => one.reason === "tool_call" && !problemOf(one);

function wordFor({ status, payload }: AgUiResumeEntry): string {
  if (status === "cancelled") return "withdrawn";
  const approved = (payload as { approved?: boolean } | null)?.approved;
  return approved === undefined ? "answered" : approved ? "approved" : "denied";
}
