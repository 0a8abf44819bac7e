import type { Interrupt } from "@ag-ui/client";
import { useInterrupt } from "@copilotkit/react-core/v2";
import { useState } from "react";

import { AGENT } from "./settings";
import { Fields } from "./Fields";

type Answer = "approved" | "denied" | "answered" | "withdrawn";

interface Asked {
  message?: string | undefined;
  responseSchema?: Record<string, unknown> | undefined;
  /** Why an answer was not taken, line by line; the same question is asked again with it. */
  problems: string[];
  give: (payload: unknown) => void;
  withdraw: () => void;
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
          {asked.map((interrupt) => (
            <Card
              key={`${interrupt.id} ${problemsOf(interrupt).join()}`}
              message={interrupt.message}
              responseSchema={interrupt.responseSchema}
              problems={problemsOf(interrupt)}
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

// An older server asks by a custom event, whose value is the interrupt as JSON, or mere text.
function legacy(value: unknown): Interrupt[] {
  const plain = { id: "legacy", reason: "confirmation", message: String(value) };
  if (typeof value !== "string") return [{ ...plain, ...(value as object) }];
  try {
    return [{ ...plain, ...(JSON.parse(value) as object) }];
  } catch {
    return [plain];
  }
}

interface Problem {
  message: string;
  problems?: { pointer: string; message: string }[];
}

// What the server says about the last answer: where it points into the payload, and what is wrong.
function problemsOf(interrupt: Interrupt): string[] {
  const ours = interrupt.metadata?.["sayso"] as { problem?: Problem } | undefined;
  const problem = ours?.problem;
  if (problem === undefined) return [];
  const lines = problem.problems?.map((one) => `${one.pointer.slice(1)} ${one.message}`.trim());
  return lines ?? [problem.message];
}

function Card({ message, responseSchema, problems, give, withdraw }: Asked) {
  const [said, setSaid] = useState<Answer>();
  const answer = (kind: Answer, payload: unknown) => {
    setSaid(kind);
    give(payload);
  };
  const cancel = () => {
    setSaid("withdrawn");
    withdraw();
  };
  const isApproval = "approved" in ((responseSchema?.["properties"] as object | undefined) ?? {});
  return (
    <article className="card" aria-label={message ?? "A question"}>
      <p>{message ?? "The agent waits for you."}</p>
      {problems.length > 0 ? <p role="alert">{problems.join("\n")}</p> : null}
      {said ? (
        <p role="status">{said}</p>
      ) : (
        <>
          {isApproval ? (
            <div className="row">
              <button onClick={() => answer("approved", { approved: true })}>Approve</button>
              <button onClick={() => answer("denied", { approved: false })}>Deny</button>
            </div>
          ) : (
            <Fields schema={responseSchema} send={(payload) => answer("answered", payload)} />
          )}
          <button className="plain" onClick={cancel}>
            Cancel
          </button>
        </>
      )}
    </article>
  );
}
