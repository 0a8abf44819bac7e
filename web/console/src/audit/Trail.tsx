import { ArgumentTable, plainText } from "@sayso/react/components";
import { personName, writeJson } from "@sayso/react/core";
import { useEffect, useId, useMemo, useState } from "react";
import { isDenied, textOrNull } from "../rest.js";
import { Time } from "../thread/Time.js";
import { textOf, useRequest } from "../useRequest.js";
import { faultOf, hasBadSignatures, signatureLines, signaturesOf } from "./signatures.js";
import { fetchAudit, fetchRows, type AuditRow, type AuditTrail, type Whose } from "./trail.js";
import { aboutOf, kindWords, memberWords, peopleOf, proofOf, whoOf } from "./words.js";

/**
 * The rows of a thread or of the tenant; read again whenever `version` is another. `onDenied` is told
 * what the server says to whom it does not know; without it the trail says so itself.
 */
export function Trail(props: {
  readonly whose: Whose;
  readonly version?: unknown;
  readonly onDenied?: (said: string) => void;
}) {
  const { whose, version, onDenied } = props;
  const [trail, setTrail] = useState<AuditTrail | null>(null);
  const { busy, failure, attempt } = useRequest();
  const [unread, setUnread] = useState<unknown>(null);
  useEffect(() => {
    const abort = new AbortController();
    fetchAudit(whose, abort.signal).then(
      (read) => {
        setTrail(read);
        setUnread(null);
      },
      (error: unknown) => {
        if (abort.signal.aborted) return;
        if (onDenied !== undefined && isDenied(error)) onDenied(error.message);
        else setUnread(error);
      },
    );
    return () => {
      abort.abort();
    };
  }, [whose, version, onDenied]);
  const more = async (cursor: string) => {
    const page = await fetchRows(whose, cursor, new AbortController().signal);
    setTrail((now) => now && { ...now, rows: [...now.rows, ...page.rows], next: page.next });
  };
  const problem = failure ?? unread;
  const differs = trail?.differs ?? [];
  const bad = trail !== null && hasBadSignatures(trail);
  const broken = typeof trail?.brokenAt === "number" || differs.length > 0 || bad;
  return (
    <>
      <p role="status" className="audit-seal" data-broken={broken}>
        {trail === null ? problem === null && "Loading the audit trail…" : sealOf(trail)}
        {trail !== null && ` ${signaturesOf(trail)}`}
      </p>
      {differs.length > 0 && (
        <ul className="audit-differs" aria-label="Differences">
          {differs.map((differ, index) => (
            <li key={index}>
              <strong>{memberWords(differ.member)}</strong> of{" "}
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
      {trail !== null && trail.rows.length > 0 && <Rows trail={trail} />}
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

function Rows({ trail }: { readonly trail: AuditTrail }) {
  const { rows, brokenAt, differs } = trail;
  const [kind, setKind] = useState("");
  const [person, setPerson] = useState("");
  const kinds = useMemo(() => [...new Set(rows.map((row) => row.kind))], [rows]);
  const people = useMemo(() => [...new Set(rows.flatMap(peopleOf))].sort(), [rows]);
  const shown = rows.filter(
    (row) =>
      (kind === "" || row.kind === kind) && (person === "" || peopleOf(row).includes(person)),
  );
  const other = new Set(differs.map(({ interruptId }) => interruptId));
  return (
    <>
      {rows.length > 1 && (
        <div className="audit-filters">
          <Choice label="What" value={kind} onChange={setKind} values={kinds} words={kindWords} />
          <Choice label="Who" value={person} onChange={setPerson} values={people} words={named} />
          <span className="sayso-quiet" aria-live="polite">
            {(kind !== "" || person !== "") && `${shown.length} of ${rows.length} rows`}
          </span>
        </div>
      )}
      <ol className="audit" aria-label="Audit">
        {shown.map((row) => (
          <Row
            key={row.number}
            row={row}
            broken={row.number === brokenAt}
            differs={other.has(textOrNull(row.content?.interruptId) ?? "")}
          />
        ))}
      </ol>
    </>
  );
}

function Choice(props: {
  readonly label: string;
  readonly value: string;
  readonly values: readonly string[];
  readonly words: (value: string) => string;
  readonly onChange: (value: string) => void;
}) {
  const { label, value, values, words, onChange } = props;
  const id = useId();
  if (values.length < 2 && value === "") return null;
  return (
    <label htmlFor={id}>
      {label}
      <select
        id={id}
        value={value}
        onChange={(event) => {
          onChange(event.target.value);
        }}
      >
        <option value="">All</option>
        {values.map((one) => (
          <option key={one} value={one}>
            {words(one)}
          </option>
        ))}
      </select>
    </label>
  );
}

function Row(props: {
  readonly row: AuditRow;
  readonly broken: boolean;
  readonly differs: boolean;
}) {
  const { row, broken, differs } = props;
  const { number, at, kind, digest, content, erased } = row;
  const about = aboutOf(row);
  const who = whoOf(row);
  const why = kind === "stopped" ? textOrNull(content?.why) : null;
  const proof = [...proofOf(row), ...signatureLines(row)];
  const fault = faultOf(row);
  return (
    <li data-broken={broken}>
      <details>
        <summary>
          <span className="audit-number">{number}</span>
          <Time at={at} />
          <strong>{kindWords(kind)}</strong>
          {about !== null && <span dir="auto">{about}</span>}
          {who !== null && <span className="moment-who">by {who}</span>}
          {why !== null && <span dir="auto">{plainText(why)}</span>}
          {erased && <span className="audit-erased">erased</span>}
          {fault === null && row.signatures.length > 0 && (
            <span className="sayso-quiet">signed</span>
          )}
          {fault !== null && <strong className="audit-broken">{fault}</strong>}
          {differs && <strong className="audit-broken">differs from the question</strong>}
          {broken && <strong className="audit-broken">changed since it was written</strong>}
        </summary>
        {content === undefined && (
          <p className="panel-note">
            {erased
              ? "What stood here was erased. That the row stands, and where, is still sealed."
              : "This is not what was written, so it is not shown."}
          </p>
        )}
        {proof.length > 0 && (
          <ul className="audit-proof" aria-label={`Proof of row ${number}`}>
            {proof.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        )}
        {content !== undefined && <ArgumentTable value={content} label={`Row ${number}`} />}
        <p className="panel-note">
          Seal <code className="moment-id">{digest}</code>
        </p>
      </details>
    </li>
  );
}

function named(person: string): string {
  return plainText(personName(person));
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
  if (count === 0) return "Nothing has been noted yet.";
  if (count === 1) return "Intact: 1 row, unchanged.";
  return `Intact: ${count} rows, all unchanged.`;
}
