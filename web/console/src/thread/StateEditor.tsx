import type { Problem } from "@sayso/react";
import { ArgumentTable, JsonEditor } from "@sayso/react/components";
import { useEffect, useRef, useState } from "react";
import { isRecord, ServerError } from "../rest.js";
import { textOf, useRequest } from "../useRequest.js";
import { nullsIn, patchOf } from "./mergePatch.js";
import { isWaiting, type ThreadRecord } from "./records.js";
import { editState } from "./repairs.js";

const SCHEMA = { type: "object" };

/** A thread's state, and the way to change what a waiting one goes on with. */
export function StateEditor(props: {
  readonly thread: ThreadRecord;
  readonly onSaved: () => void;
}) {
  const { thread, onSaved } = props;
  // The state as it was when the editor opened: changes are told apart from it.
  const [base, setBase] = useState<{ readonly values: unknown } | null>(null);
  const [said, setSaid] = useState("");
  const opener = useRef<HTMLButtonElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const wasOpen = useRef(false);
  const editing = base !== null;
  useEffect(() => {
    if (editing) box.current?.querySelector("textarea")?.focus();
    else if (wasOpen.current) opener.current?.focus();
    wasOpen.current = editing;
  }, [editing]);

  return (
    <div ref={box}>
      {base === null ? (
        <>
          {isEmpty(thread.values) ? (
            <p className="sayso-quiet">No shared state yet.</p>
          ) : (
            <ArgumentTable value={thread.values} label="State" />
          )}
          {isWaiting(thread) && (
            <button
              ref={opener}
              type="button"
              className="sayso-button sayso-small state-button"
              onClick={() => {
                setBase({ values: thread.values });
                setSaid("");
              }}
            >
              Edit state
            </button>
          )}
        </>
      ) : (
        <Editor
          base={base.values}
          thread={thread}
          onClose={(saved) => {
            setBase(null);
            if (!saved) return;
            setSaid("Saved. The agent continues with it once its questions are answered.");
            onSaved();
          }}
        />
      )}
      <p role="status" className="panel-note">
        {said}
      </p>
    </div>
  );
}

function Editor(props: {
  readonly base: unknown;
  readonly thread: ThreadRecord;
  readonly onClose: (saved: boolean) => void;
}) {
  const { base, thread, onClose } = props;
  const { busy, failure, attempt, forget } = useRequest();
  const [problems, setProblems] = useState<readonly Problem[]>([]);
  const server = failure instanceof ServerError ? failure.problems.map(below) : [];
  const forgotten = () => {
    setProblems([]);
    if (failure !== null) forget();
  };
  const save = async (value: unknown) => {
    if (!isRecord(value)) return;
    const nulls = nullsIn(base, value);
    setProblems(nulls);
    if (nulls.length > 0) return;
    const patch = patchOf(base, value);
    const unchanged = Object.keys(patch).length === 0;
    if (unchanged) onClose(false);
    else if (await attempt(() => editState(thread.row.threadId, patch))) onClose(true);
  };
  return (
    <JsonEditor
      label="State as JSON"
      schema={SCHEMA}
      value={isRecord(base) ? base : {}}
      problems={[...problems, ...server]}
      onChange={forgotten}
      onSubmit={(value) => void save(value)}
    >
      <p role="alert" className="repair-failure">
        {failure !== null && textOf(failure)}
      </p>
      {!isWaiting(thread) && (
        <p className="panel-note">The agent no longer waits, so this cannot be saved.</p>
      )}
      <div className="repair-buttons">
        <button type="submit" className="sayso-button sayso-primary sayso-small" disabled={busy}>
          Save
        </button>
        <button
          type="button"
          className="sayso-button sayso-small"
          disabled={busy}
          onClick={() => {
            onClose(false);
          }}
        >
          Discard changes
        </button>
      </div>
    </JsonEditor>
  );
}

/** The server speaks of the body that was sent, the editor of the state in it. */
function below({ pointer, message }: Problem): Problem {
  return {
    pointer: pointer.startsWith("/values") ? pointer.slice("/values".length) : pointer,
    message,
  };
}

function isEmpty(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return value === undefined || value === null;
  return Object.keys(value).length === 0;
}
