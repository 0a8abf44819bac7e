import { useEffect, useRef, useState } from "react";
import { textOf, useRequest } from "../useRequest.js";
import type { ThreadRecord } from "./records.js";
import { restartThread } from "./repairs.js";

/** True if the code of a thread's agent has changed so that its turn cannot go on. */
export function isMismatched({ problem, row }: ThreadRecord): boolean {
  return problem?.code === "replay_mismatch" && !row.running;
}

/** Restarts a turn that the current code cannot continue, asked for twice. */
export function Restart(props: {
  readonly thread: ThreadRecord;
  readonly onRestarted: () => void;
}) {
  const { thread, onRestarted } = props;
  const { repeats, row, problem } = thread;
  const { busy, failure, attempt } = useRequest();
  const [sure, setSure] = useState(false);
  const first = useRef<HTMLButtonElement>(null);
  const second = useRef<HTMLButtonElement>(null);
  const wasSure = useRef(false);
  useEffect(() => {
    if (sure) second.current?.focus();
    else if (wasSure.current) first.current?.focus();
    wasSure.current = sure;
  }, [sure]);
  const restart = async () => {
    await restartThread(row.threadId);
    document.getElementById("main")?.focus({ preventScroll: true });
    onRestarted();
  };
  const keep = () => {
    setSure(false);
  };
  return (
    <section className="repair" aria-labelledby="repair-title">
      <h2 id="repair-title">The agent's code changed during this turn</h2>
      <p dir="auto">{problem?.message}</p>
      <p>
        Restore the old code and answer again, stop the turn, or restart it with the current code.
      </p>
      {sure ? (
        <>
          {repeats.length === 0 ? (
            <p>Nothing was done in this turn yet, so nothing runs twice.</p>
          ) : (
            <>
              <p>These effects happened already and may happen again:</p>
              <ul className="next" aria-label="May happen again">
                {repeats.map((name, index) => (
                  <li key={index}>
                    <code>{name}</code>
                  </li>
                ))}
              </ul>
            </>
          )}
          {row.open > 0 && <p>Open questions are withdrawn. The new turn asks its own.</p>}
          <div className="repair-buttons">
            <button
              ref={second}
              type="button"
              className="sayso-button sayso-small sayso-no"
              disabled={busy}
              onClick={() => void attempt(restart)}
              onKeyDown={(event) => {
                if (event.key === "Escape" && !busy) keep();
              }}
            >
              {repeats.length === 0 ? "Restart the turn" : `Restart and repeat ${repeats.length}`}
            </button>
            <button
              type="button"
              className="sayso-button sayso-small"
              disabled={busy}
              onClick={keep}
            >
              Keep this turn
            </button>
          </div>
        </>
      ) : (
        <div className="repair-buttons">
          <button
            ref={first}
            type="button"
            className="sayso-button sayso-small"
            onClick={() => {
              setSure(true);
            }}
          >
            Restart the turn…
          </button>
        </div>
      )}
      <p role="alert" className="repair-failure">
        {failure !== null && textOf(failure)}
      </p>
    </section>
  );
}
