import { useAssistantTool } from "@assistant-ui/react";

type Args = { subject: string; slots: string[] };

// A tool of the page's own, which the agent may call: what a person picks is its result. After a
// reload it is asked again, since the server keeps the call until it has one.
export function Meeting() {
  useAssistantTool<Args, { slot: string }>({
    toolName: "schedule_meeting",
    type: "human",
    description: "Lets the user pick a time for a meeting.",
    parameters: {
      type: "object",
      properties: {
        subject: { type: "string" },
        slots: { type: "array", items: { type: "string" } },
      },
      required: ["subject", "slots"],
    },
    render: ({ args, result, addResult }) => (
      <div className="card" role="group" aria-label="Pick a time">
        <p>{args.subject}</p>
        {result === undefined ? (
          <div className="row">
            {(args.slots ?? []).map((slot) => (
              <button key={slot} onClick={() => addResult({ slot })}>
                {slot}
              </button>
            ))}
          </div>
        ) : (
          <p role="status">{result.slot}</p>
        )}
      </div>
    ),
  });
  return null;
}
