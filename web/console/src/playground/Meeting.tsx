import { useHumanInTheLoop, type HumanInTheLoopProps } from "@sayso/react";
import { PlainText } from "@sayso/react/components";
import { useId, useState, type ReactElement, type SyntheticEvent } from "react";

interface Offer {
  readonly subject: string;
  readonly slots: readonly unknown[];
}

const PARAMETERS = {
  type: "object",
  properties: {
    subject: { type: "string", description: "What the meeting is about." },
    slots: { type: "array", items: { type: "string" }, description: "Times to choose from." },
  },
  required: ["subject", "slots"],
};

/** The tool that this page offers its agents: a person picks a time for a meeting. */
export function useMeetings(): ReactElement | null {
  return useHumanInTheLoop<Offer, false>({
    name: "schedule_meeting",
    description: "Shows the user some times for a meeting and returns the one they pick.",
    parameters: PARAMETERS,
    renderInChat: false,
    render: (call) =>
      call.status === "complete" ? (
        <></>
      ) : (
        <div className="sayso-group">
          <MeetingCard {...call} />
        </div>
      ),
  });
}

function MeetingCard({ args, respond }: HumanInTheLoopProps<Offer>) {
  const id = useId();
  const [chosen, setChosen] = useState<string | null>(null);
  const [own, setOwn] = useState("");
  const [state, setState] = useState<"open" | "sending" | "failed">("open");
  const slots = Array.isArray(args.slots)
    ? args.slots.filter((item) => typeof item === "string")
    : [];
  const slot = chosen ?? own.trim();
  const say = async (result: unknown) => {
    setState("sending");
    setState((await respond?.(result)) === true ? "open" : "failed");
  };
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (slot !== "") void say({ slot });
  };
  const waits = respond !== undefined && state !== "sending";
  return (
    <section
      className="sayso-card"
      data-state={waits ? "open" : "sending"}
      aria-labelledby={`${id}-title`}
    >
      <header className="sayso-head">
        <h2 id={`${id}-title`} className="sayso-title">
          <span className="sayso-label">Your calendar</span> <code>schedule_meeting</code>
        </h2>
      </header>
      <p className="sayso-message" dir="auto">
        <PlainText text={args.subject ?? "When shall we meet?"} />
      </p>
      <form onSubmit={submit} className="sayso-form">
        <fieldset className="sayso-choices" disabled={!waits}>
          <legend className="sayso-sr">Pick a time</legend>
          {slots.map((text) => (
            <label key={text} className="sayso-choice" data-chosen={chosen === text}>
              <input
                type="radio"
                name={`${id}-slot`}
                checked={chosen === text}
                onChange={() => {
                  setChosen(text);
                }}
              />
              <span dir="auto">
                <PlainText text={text} />
              </span>
            </label>
          ))}
          {slots.length === 0 && (
            <label className="sayso-field">
              When
              <input
                className="sayso-input"
                value={own}
                onChange={({ target }) => {
                  setOwn(target.value);
                }}
              />
            </label>
          )}
        </fieldset>
        <p role="alert" className="sayso-failure">
          {state === "failed" && "Not sent. Try again."}
        </p>
        <div className="sayso-actions">
          <button
            type="submit"
            className="sayso-button sayso-primary"
            disabled={!waits || slot === ""}
          >
            Choose this time
          </button>
          <button
            type="button"
            className="sayso-button"
            disabled={!waits}
            onClick={() => void say({ slot: null })}
          >
            None of these
          </button>
        </div>
      </form>
    </section>
  );
}
