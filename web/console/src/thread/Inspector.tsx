import { ArgumentTable } from "@sayso/react/components";
import type { ThreadRecord } from "./records.js";
import { StateEditor } from "./StateEditor.js";

/** Where the agent stands: what it goes on with, its state, and what it has recorded. */
export function Inspector(props: {
  readonly thread: ThreadRecord;
  readonly onChanged: () => void;
}) {
  const { thread, onChanged } = props;
  const { next, journal } = thread;
  return (
    <>
      <section aria-labelledby="next-title">
        <h2 id="next-title">Goes on with</h2>
        {next.length === 0 ? (
          <p className="sayso-quiet">Nothing is under way.</p>
        ) : (
          <ul className="next">
            {next.map((name, index) => (
              <li key={index}>
                <code>{name}</code>
              </li>
            ))}
          </ul>
        )}
      </section>
      <section aria-labelledby="values-title">
        <h2 id="values-title">State</h2>
        <StateEditor thread={thread} onSaved={onChanged} />
      </section>
      <section aria-labelledby="journal-title">
        <h2 id="journal-title">Journal</h2>
        <p className="panel-note">
          What the present turn has recorded, so that it never repeats it.
        </p>
        {journal.length === 0 ? (
          <p className="sayso-quiet">Nothing: no turn is open.</p>
        ) : (
          <ol className="journal" aria-label="Journal">
            {journal.map((entry, index) => (
              <li key={index}>
                <details>
                  <summary>
                    <code>{entry.name}</code>
                    <span>{entry.kind}</span>
                    <span className="journal-status" data-status={entry.status}>
                      {entry.status}
                    </span>
                  </summary>
                  <p className="panel-note">at {entry.place}</p>
                  {entry.data !== undefined && (
                    <ArgumentTable value={entry.data} label={entry.name} />
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
