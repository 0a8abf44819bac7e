import type { Interrupt } from "@ag-ui/client";
import { useInterrupt } from "@copilotkit/react-core/v2";
import { useState } from "react";

import { AGENT, settings } from "./settings";
import { Fields } from "./Fields";

type Answer = "approved" | "denied" | "answered" | "withdrawn";

interface Asked {
  interrupt: Interrupt;
  give: (payload: unknown) => void;
  /** Only hooks of version 2 can. */
  withdraw?: () => void;
}

// Shows every open question in the chat. CopilotKit sends all answers together once each question
// has one, so what was answered already says so and waits for the others.
export function Approvals() {
  useInterrupt({
    agentId: AGENT,
    render: ({ interrupts, event, resolve, cancel }) => {
      const asked = interrupts.length > 0 ? interrupts : legacy(event.value);
      return (
        <div className="cards" role="group" aria-label="Open questions">
          {asked.map((interrupt, at) => (
            <Card
              key={settings.unkeyed ? at : keyOf(interrupt)}
              interrupt={interrupt}
              give={(payload) => void resolve(payload, interrupt.id)}
              withdraw={() => void cancel(interrupt.id)}
            />
          ))}
        </div>
      );
    },
  });
  return null;
}

// A card that is keyed so begins anew for another question, and each time an answer is not taken.
export const keyOf = (interrupt: Interrupt): string =>
  `${interrupt.id} ${problemOf(interrupt)?.id}`;

// An older server asks by a custom event, whose value is the interrupt as JSON, or mere text.
export function legacy(value: unknown): Interrupt[] {
  const plain = { id: "legacy", reason: "confirmation", message: String(value) };
  if (typeof value !== "string") return [{ ...plain, ...(value as object) }];
  try {
    return [{ ...plain, ...(JSON.parse(value) as object) }];
  } catch {
    return [plain];
  }
}

function ruleOf({ reason, metadata }: Interrupt): string | undefined {
  const rule = (metadata?.["sayso"] as { rule?: string } | undefined)?.rule;
  const named =
    rule !== undefined && !["ask", "always"].includes(rule) && !rule.includes("<lambda>");
  return reason === "tool_call" && named ? rule : undefined;
}

interface Problem {
  /** Another one each time that an answer was not taken. */
  id: string;
  message: string;
  problems?: { pointer: string; message: string }[];
}

function problemOf(interrupt: Interrupt): Problem | undefined {
  return (interrupt.metadata?.["sayso"] as { problem?: Problem } | undefined)?.problem;
}

// What the server says about the last answer: where it points into the payload, and what is wrong.
function problemsOf(interrupt: Interrupt): string[] {
  const problem = problemOf(interrupt);
  if (problem === undefined) return [];
  const lines = problem.problems?.map((one) => `${one.pointer.slice(1)} ${one.message}`.trim());
  return lines ?? [problem.message];
}

export function Card({ interrupt, give, withdraw }: Asked) {
  const { message, responseSchema } = interrupt;
  const rule = ruleOf(interrupt);
  const problems = problemsOf(interrupt);
  const [said, setSaid] = useState<Answer>();
  const answer = (kind: Answer, payload: unknown) => {
    setSaid(kind);
    give(payload);
  };
  const [edited, setEdited] = useState<string>();
  const properties = (responseSchema?.["properties"] as object | undefined) ?? {};
  const isApproval = "approved" in properties;
  return (
    <article className="card" aria-label={message ?? "A question"}>
      <p>{message ?? "The agent waits for you."}</p>
      {rule === undefined ? null : <p className="rule">Asked by rule {rule}</p>}
      {problems.length > 0 ? <p role="alert">{problems.join("\n")}</p> : null}
      {said ? (
        <p role="status">{said}</p>
      ) : (
        <>
          {isApproval ? (
            <div className="row">
              <button onClick={() => answer("approved", { approved: true })}>Approve</button>
              {"editedArgs" in properties ? (
                <button onClick={() => setEdited(JSON.stringify(argumentsOf(interrupt), null, 2))}>
                  Edit
                </button>
              ) : null}
              <button onClick={() => answer("denied", { approved: false })}>Deny</button>
            </div>
          ) : (
            <Fields schema={responseSchema} send={(payload) => answer("answered", payload)} />
          )}
          {edited === undefined ? null : (
            <Edited
              text={edited}
              change={setEdited}
              send={(editedArgs) => answer("approved", { approved: true, editedArgs })}
            />
          )}
          {withdraw ? (
            <button
              className="plain"
              onClick={() => {
                setSaid("withdrawn");
                withdraw();
              }}
            >
              Cancel
            </button>
          ) : null}
        </>
      )}
    </article>
  );
}

const argumentsOf = (interrupt: Interrupt): unknown =>
  (interrupt.metadata?.["sayso"] as { arguments?: unknown } | undefined)?.arguments;

interface Changed {
  text: string;
  change: (text: string) => void;
  send: (args: unknown) => void;
}

// The arguments of a call as JSON, to be changed by who approves it. A whole number beyond 2^53 is
// rounded on its way through a page; the server takes no such number for the one that was asked.
function Edited({ text, change, send }: Changed) {
  const value = parsed(text);
  return (
    <>
      <label>
        Arguments
        <textarea rows={5} value={text} onChange={(event) => change(event.target.value)} />
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
