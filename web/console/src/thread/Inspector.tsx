import { ArgumentTable, plainText } from "@sayso/react/components";
import { SpeakerLine } from "../playground/Speakers.js";
import { subagentLabelFor, type SubagentLabels } from "../subagents.js";
import type { ThreadRecord } from "./records.js";
import { StateEditor } from "./StateEditor.js";
import { invocationsOf, type Invocation } from "./subagents.js";

/** Where the agent stands: what it goes on with, its state, and what it has recorded. */
export function Inspector(props: {
  readonly thread: ThreadRecord;
  readonly labels: SubagentLabels;
  readonly onChanged: () => void;
}) {
  const { thread, labels, onChanged } = props;
  const { next, journal } = thread;
  const invocations = invocationsOf(thread);
  return (
    <>
      <section aria-labelledby="next-title">
        <h2 id="next-title">Next step</h2>
        {next.length === 0 ? (
          <p className="sayso-quiet">None.</p>
        ) : (
          <ul className="next">
            {next.map((name, index) => (
              <li key={index}>
                <code>{plainText(name)}</code>
              </li>
            ))}
          </ul>
        )}
      </section>
      {invocations.length > 0 && (
        <section aria-labelledby="subagents-title">
          <h2 id="subagents-title">Subagents</h2>
          <ul className="subagents">
            {invocations.map((invocation) => (
              <li key={invocation.id}>
                <SpeakerLine label={subagentLabelFor(labels, invocation.id)} />
                <span
                  className="subagent-status"
                  data-status={invocation.open > 0 ? "waiting" : "finished"}
                >
                  {standing(invocation)}
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
      <section aria-labelledby="values-title">
        <h2 id="values-title">State</h2>
        <StateEditor thread={thread} onSaved={onChanged} />
      </section>
      <section aria-labelledby="journal-title">
        <h2 id="journal-title">Journal</h2>
        <p className="panel-note">{journalOf(thread)}</p>
        {journal.length > 0 && (
          <ol className="journal" aria-label="Journal">
            {journal.map((entry, index) => (
              <li key={index}>
                <details>
                  <summary>
                    <span className="journal-kind">{entry.kind}</span>
                    {entry.name !== "" && <code>{plainText(entry.name)}</code>}
                    <span className="journal-status" data-status={entry.status}>
                      {entry.status}
                    </span>
                  </summary>
                  <p className="panel-note">at {entry.place}</p>
                  {entry.data !== undefined && (
                    <ArgumentTable value={entry.data} label={plainText(entry.name)} />
                  )}
                </details>
              </li>
            ))}
          </ol>
        )}
      </section>
    </>
  );
}

/** Says whose journal it is: a turn's is kept until the next one begins. */
function journalOf({ journal, row, turnId }: ThreadRecord): string {
  const none = journal.length === 0;
  if (row.running || row.status === "suspended") {
    return none
      ? "Nothing is recorded in this turn yet."
      : "Recorded in this turn, so that nothing runs twice.";
  }
  if (turnId === null && none) return "No turn has started yet.";
  return none
    ? "The last turn recorded nothing."
    : "Recorded in the last turn. Kept until the next one starts.";
}

function standing({ open, settled }: Invocation): string {
  if (open > 0) return open === 1 ? "1 question open" : `${open} questions open`;
  if (settled > 0) return settled === 1 ? "1 question closed" : `${settled} questions closed`;
  return "no questions";
}
