import { ArgumentTable, momentText, PlainText } from "@sayso/react/components";
import { personName } from "@sayso/react/core";
import { useEffect, useRef, useState } from "react";
import { useToken } from "../access.js";
import { ServerError } from "../rest.js";
import { textOf, useRequest } from "../useRequest.js";
import { useNow } from "../useNow.js";
import { fetchRemembered, revoke, type Remembered } from "./remembered.js";

interface Listed {
  readonly rows: readonly Remembered[] | null;
  readonly next: string | null;
}

const HIDDEN = [401, 403, 404];

/** Approvals that are remembered, and the way to revoke them. */
export function RememberedSection() {
  const token = useToken();
  const [{ rows, next }, setListed] = useState<Listed>({ rows: null, next: null });
  const [unread, setUnread] = useState<unknown>(null);
  const { busy, failure, attempt } = useRequest();
  useEffect(() => {
    const abort = new AbortController();
    fetchRemembered(null, abort.signal).then(
      (page) => {
        setListed(page);
        setUnread(null);
      },
      (error: unknown) => {
        if (!abort.signal.aborted) setUnread(error);
      },
    );
    return () => {
      abort.abort();
    };
  }, [token]);
  const more = async () => {
    const page = await fetchRemembered(next);
    setListed((now) => ({ rows: [...(now.rows ?? []), ...page.rows], next: page.next }));
  };
  // A server without such a path remembers nothing; who is nobody to it is told below.
  if (unread instanceof ServerError && HIDDEN.includes(unread.status ?? 0)) return null;
  const problem = failure ?? unread;
  return (
    <section aria-labelledby="remembered-title">
      <h2 id="remembered-title">Remembered approvals</h2>
      {rows === null && problem === null && <p className="sayso-quiet">Loading…</p>}
      {rows?.length === 0 && <p className="sayso-quiet">No remembered approvals.</p>}
      <p role="alert" className="repair-failure">
        {problem !== null && textOf(problem)}
      </p>
      {rows !== null && rows.length > 0 && (
        <ul className="remembered" aria-label="Remembered approvals">
          {rows.map((row) => (
            <Row key={row.id} row={row} />
          ))}
        </ul>
      )}
      {next !== null && (
        <button
          type="button"
          className="sayso-button sayso-small"
          disabled={busy}
          onClick={() => void attempt(more)}
        >
          Show more
        </button>
      )}
    </section>
  );
}

const MATCHES: Readonly<Record<string, string>> = {
  same: "with exactly these arguments",
  like: "with arguments like these",
  any: "with any arguments",
};

function Row({ row: given }: { readonly row: Remembered }) {
  const [row, setRow] = useState(given);
  const now = useNow();
  const { busy, failure, attempt } = useRequest();
  const status = useRef<HTMLParagraphElement>(null);
  const over = row.expiresAt !== null && Date.parse(row.expiresAt) <= now;
  const take = async () => {
    setRow(await revoke(row.id));
    // The button goes with what it took back: the focus moves on to what became of it.
    status.current?.focus();
  };
  return (
    <li data-over={over || row.revokedAt !== null}>
      <div className="tool-head">
        <code>
          <PlainText text={row.tool} />
        </code>
        {row.revokedAt === null && !over && (
          <button
            type="button"
            className="sayso-button sayso-small"
            aria-label={`Ask again for ${row.tool}`}
            disabled={busy}
            onClick={() => void attempt(take)}
          >
            Ask again
          </button>
        )}
      </div>
      <p>
        {MATCHES[row.matches] ?? row.matches}
        {row.threadId === null ? ", in all conversations" : `, in conversation ${row.threadId}`}
      </p>
      {row.args !== undefined && row.matches !== "any" && (
        <ArgumentTable value={row.args} label={`Arguments of ${row.tool}`} />
      )}
      <p className="sayso-quiet">
        {row.givenBy !== null && `Approved by ${personName(row.givenBy)}`}
        {row.givenAt !== null && ` on ${timeOf(row.givenAt)}`}
        {`, ${usesOf(row)}`}
        {row.expiresAt !== null && `, ${over ? "expired" : "until"} ${timeOf(row.expiresAt)}`}
      </p>
      <p role="status" tabIndex={-1} ref={status}>
        {row.revokedAt !== null &&
          `Revoked${row.revokedBy === null ? "" : ` by ${personName(row.revokedBy)}`} on ${timeOf(row.revokedAt)}. These calls ask again.`}
      </p>
      <p role="alert" className="repair-failure">
        {failure !== null && textOf(failure)}
      </p>
    </li>
  );
}

function usesOf({ uses, lastUsedAt }: Remembered): string {
  if (uses === 0) return "not used yet";
  const last = lastUsedAt === null ? "" : `, last on ${timeOf(lastUsedAt)}`;
  return uses === 1 ? `used once${last}` : `used ${uses} times${last}`;
}

function timeOf(pointer: string): string {
  const time = Date.parse(pointer);
  return Number.isNaN(time) ? pointer : momentText(time);
}
