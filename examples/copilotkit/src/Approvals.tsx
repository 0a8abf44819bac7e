import type { Interrupt } from "@ag-ui/client";
import { useInterrupt } from "@copilotkit/react-core/v2";
import { useState } from "react";

import { AGENT } from "./settings";
import { Fields } from "./Fields";

type Answer = "approved" | "denied" | "answered" | "withdrawn";

interface Asked {
  message?: string | undefined;
  responseSchema?: Record<string, unknown> | undefined;
  /** Why an answer was not taken; the same question is asked again with it. */
  problem?: string | undefined;
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
              key={`${interrupt.id} ${problemOf(interrupt) ?? ""}`}
              message={interrupt.message}
              responseSchema={interrupt.responseSchema}
              problem={problemOf(interrupt)}
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

function problemOf(interrupt: Interrupt): string | undefined {
  const ours = interrupt.metadata?.["sayso"] as { problem?: { message?: string } } | undefined;
  return ours?.problem?.message;
}

function Card({ message, responseSchema, problem, give, withdraw }: Asked) {
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
      {problem ? <p role="alert">{problem}</p> : null}
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
