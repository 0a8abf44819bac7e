import { ArgumentTable, plainText } from "@sayso/react/components";
import { labelOf, personName, writeJson } from "@sayso/react/core";
import { useEffect, useState } from "react";
import { textOrNull } from "../rest.js";
import { textOf, useRequest } from "../useRequest.js";
import { fetchAudit, fetchRows, type AuditRow, type AuditTrail } from "./audit.js";
import type { ThreadRecord } from "./records.js";
import { Time } from "./Time.js";

/** A thread's audit trail, read when it is opened, and again whenever the thread changes. */
export function AuditSection({ thread }: { readonly thread: ThreadRecord }) {
  const [open, setOpen] = useState(false);
  return (
    <section aria-labelledby="audit-title">
      <h2 id="audit-title">Audit</h2>
      <details
        className="sayso-details"
        onToggle={({ currentTarget }) => {
          setOpen(currentTarget.open);
        }}
      >
        <summary>Every question, decision and effect, each row sealed</summary>
        {open && <Trail thread={thread} />}
      </details>
    </section>
  );
}

function Trail({ thread }: { readonly thread: ThreadRecord }) {
  const { threadId } = thread.row;
  const [trail, setTrail] = useState<AuditTrail | null>(null);
  const { busy, failure, attempt } = useRequest();
  const [unread, setUnread] = useState<unknown>(null);
  useEffect(() => {
    const abort = new AbortController();
    fetchAudit(threadId, abort.signal).then(
      (read) => {
        setTrail(read);
        setUnread(null);
      },
      (error: unknown) => {
        if (!abort.signal.aborted) setUnread(error);
      },
    );
    return () => {
      abort.abort();
    };
  }, [threadId, thread]);
  const more = async (cursor: string) => {
    const page = await fetchRows(threadId, cursor, new AbortController().signal);
    setTrail((now) => now && { ...now, rows: [...now.rows, ...page.rows], next: page.next });
  };
  const problem = failure ?? unread;
  const differs = trail?.differs ?? [];
  const broken = typeof trail?.brokenAt === "number" || differs.length > 0;
  return (
    <>
      <p role="status" className="audit-seal" data-broken={broken}>
        {trail === null ? problem === null && "Loading the audit trail…" : sealOf(trail)}
      </p>
      {differs.length > 0 && (
        <ul className="audit-differs" aria-label="Differences">
          {differs.map((differ, index) => (
            <li key={index}>
              <strong>{plainText(differ.member)}</strong> of{" "}
              <code className="moment-id">{plainText(differ.interruptId)}</code>: the trail says{" "}
              <code>{plainText(written(differ.trail))}</code>, the question{" "}
              <code>{plainText(written(differ.record))}</code>
            </li>
          ))}
        </ul>
      )}
      <p role="alert" className="repair-failure">
        {problem !== null && textOf(problem)}
      </p>
      {trail !== null && trail.rows.length > 0 && (
        <ol className="audit" aria-label="Audit">
          {trail.rows.map((row) => (
            <Row key={row.number} row={row} broken={row.number === trail.brokenAt} />
          ))}
        </ol>
      )}
      {typeof trail?.next === "string" && (
        <button
          type="button"
          className="sayso-button sayso-small"
          disabled={busy}
          onClick={() => void attempt(() => more(trail.next ?? ""))}
        >
          Show more
        </button>
      )}
    </>
  );
}

function Row({ row, broken }: { readonly row: AuditRow; readonly broken: boolean }) {
  const { number, at, kind, digest, content } = row;
  const reason = textOrNull(content?.reason);
  const about = textOrNull(content?.tool) ?? (reason === null ? null : aboutOf(reason));
  const by = textOrNull(content?.by);
  return (
    <li data-broken={broken}>
      <details>
        <summary>
          <span className="audit-number">{number}</span>
          <Time at={at} />
          <strong>{kind}</strong>
          {about !== null && <code dir="auto">{plainText(about)}</code>}
          {by !== null && <span className="moment-who">by {plainText(personName(by))}</span>}
          {broken && <strong className="audit-broken">changed since it was written</strong>}
        </summary>
        {content === undefined ? (
          <p className="panel-note">The content was deleted with the conversation.</p>
        ) : (
          <ArgumentTable value={content} label={`Row ${number}`} />
        )}
        <p className="panel-note">
          Seal <code className="moment-id">{digest}</code>
        </p>
      </details>
    </li>
  );
}

/** A reason in words; the audit trail alone tells of calls of the client's own tools. */
function aboutOf(reason: string): string {
  return reason === "sayso:client-tool" ? "Client tool" : labelOf({ id: "", reason });
}

/** A value of a difference; a member that is not there is nothing. */
function written(value: unknown): string {
  return value === undefined || value === null ? "nothing" : writeJson(value);
}

function sealOf({ count, brokenAt, differs }: AuditTrail): string {
  if (brokenAt !== null) {
    return `Broken: row ${brokenAt} was changed after it was written. Nothing from there on is proven.`;
  }
  if (differs.length > 0) {
    return "The rows are intact, but a question was changed afterwards.";
  }
  if (count === 1) return "Intact: 1 row, unchanged.";
  return `Intact: ${count} rows, all unchanged.`;
}
