import { expiryOf, failureText, mayDo, type Inbox, type InboxItem } from "@sayso/react/core";
import { useId, useState, type SyntheticEvent } from "react";

const MORE: readonly (readonly [seconds: number, label: string])[] = [
  [900, "15 minutes"],
  [3600, "1 hour"],
  [86_400, "1 day"],
  [604_800, "1 week"],
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
  const assignable = mayDo(interrupt, "assign");
  const extendable = expiryOf(interrupt) !== null && mayDo(interrupt, "extend");

  const tell = async (doing: ReturnType<Inbox["assign"]>, done: string) => {
    const failure = await doing;
    setSaid(failure === null ? done : "");
    setRefused(failure === null ? "" : failureText(failure));
  };
  const assign = (event: SyntheticEvent) => {
    event.preventDefault();
    const name = to.trim();
    const done = name === "" ? "Unassigned." : `Assigned to ${name}.`;
    void tell(inbox.assign(interrupt.id, name === "" ? null : name), done);
  };
  if (!assignable && !extendable) return null;
  const acts = [assignable && "Assign", extendable && (assignable ? "extend" : "Extend")];
  return (
    <details className="handling">
      <summary>{acts.filter(Boolean).join(" or ")}</summary>
      {assignable && (
        <form className="handling-row" onSubmit={assign}>
          <label htmlFor={id}>Assign to</label>
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
            {to.trim() === "" && assignedTo !== null ? "Unassign" : "Assign"}
          </button>
        </form>
      )}
      {extendable && item.lapsed && (
        <p className="sayso-quiet">It expired. Extend it, and it can be answered again.</p>
      )}
      {extendable && (
        <div className="handling-row" role="group" aria-label="Extend by">
          <span aria-hidden="true">Extend by</span>
          {MORE.map(([seconds, label]) => (
            <button
              key={seconds}
              type="button"
              className="sayso-button sayso-small"
              onClick={() => {
                void tell(inbox.extend(interrupt.id, seconds), `Deadline extended by ${label}.`);
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
