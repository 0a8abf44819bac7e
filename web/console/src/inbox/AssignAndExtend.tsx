import { expiryOf, type Inbox, type InboxItem } from "@sayso/react/core";
import { useId, useState, type SyntheticEvent } from "react";

const MORE: readonly (readonly [seconds: number, label: string])[] = [
  [900, "15 minutes"],
  [3600, "an hour"],
  [86_400, "a day"],
  [604_800, "a week"],
];

/** Whose a question is and how long it stays open: what can be done with it beside answering. */
export function AssignAndExtend({
  inbox,
  item,
}: {
  readonly inbox: Inbox;
  readonly item: InboxItem;
}) {
  const { interrupt, assignedTo } = item;
  const id = useId();
  const [to, setTo] = useState(assignedTo ?? "");
  const [said, setSaid] = useState("");
  const [refused, setRefused] = useState("");
  const ends = expiryOf(interrupt) !== null && !item.lapsed;

  const tell = async (doing: ReturnType<Inbox["assign"]>, done: string) => {
    const failure = await doing;
    setSaid(failure === null ? done : "");
    setRefused(failure === null ? "" : failure.message);
  };
  const assign = (event: SyntheticEvent) => {
    event.preventDefault();
    const name = to.trim();
    const done = name === "" ? "It is taken back." : `It is for ${name} now.`;
    void tell(inbox.assign(interrupt.id, name === "" ? null : name), done);
  };
  return (
    <details className="handling">
      <summary>{ends ? "Assign it or give it more time" : "Assign it"}</summary>
      <form className="handling-row" onSubmit={assign}>
        <label htmlFor={id}>For</label>
        <input
          id={id}
          className="sayso-input"
          value={to}
          placeholder="nobody"
          maxLength={256}
          autoComplete="off"
          onChange={({ target }) => {
            setTo(target.value);
          }}
        />
        <button
          type="submit"
          className="sayso-button sayso-small"
          disabled={to.trim() === (assignedTo ?? "")}
        >
          {to.trim() === "" && assignedTo !== null ? "Take it back" : "Assign"}
        </button>
      </form>
      {ends && (
        <div className="handling-row" role="group" aria-label="More time">
          <span aria-hidden="true">More time</span>
          {MORE.map(([seconds, label]) => (
            <button
              key={seconds}
              type="button"
              className="sayso-button sayso-small"
              onClick={() => {
                void tell(inbox.extend(interrupt.id, seconds), `It has ${label} more.`);
              }}
            >
              {label}
            </button>
          ))}
        </div>
      )}
      <p role="status" className="sayso-quiet">
        {said}
      </p>
      <p role="alert" className="sayso-failure">
        {refused}
      </p>
    </details>
  );
}
