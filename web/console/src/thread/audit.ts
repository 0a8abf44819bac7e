import { isRecord, recordsOf, request, textOrNull } from "../rest.js";

/** One row of the audit trail; `content` is undefined where an older version took it away. */
export interface AuditRow {
  readonly number: number;
  readonly at: string | null;
  readonly kind: string;
  readonly digest: string;
  readonly content: Readonly<Record<string, unknown>> | undefined;
}

/** A thread's trail: its rows as far as they were read, and whether they are as they were written. */
export interface AuditTrail {
  readonly rows: readonly AuditRow[];
  readonly next: string | null;
  /** How many rows there are in all. */
  readonly count: number;
  /** The number of the first row that is not as it was written; null when all are. */
  readonly brokenAt: number | null;
  /** Where questions are kept otherwise than their rows say. */
  readonly differs: readonly Difference[];
}

/** A member of a settled question, as the trail has it and as the question itself does. */
export interface Difference {
  readonly interruptId: string;
  readonly member: string;
  readonly trail: unknown;
  readonly record: unknown;
}

/** The first rows of a thread's trail, and what its seals say. */
export async function fetchAudit(threadId: string, signal: AbortSignal): Promise<AuditTrail> {
  const page = await fetchRows(threadId, null, signal);
  const body = await request(`audit/${encodeURIComponent(threadId)}`, { signal });
  const chain = isRecord(body) ? body : {};
  const broken = chain.intact === true ? null : Number(chain.brokenAt ?? 0);
  const differs = recordsOf(chain.differs).map(({ interruptId, member, trail, record }) => ({
    interruptId: textOrNull(interruptId) ?? "",
    member: textOrNull(member) ?? "",
    trail,
    record,
  }));
  const count = Number(chain.rows ?? page.rows.length);
  return { ...page, count, brokenAt: broken, differs };
}

/** A page of a thread's trail, oldest first, and where the next one begins. */
export async function fetchRows(
  threadId: string,
  cursor: string | null,
  signal: AbortSignal,
): Promise<Pick<AuditTrail, "rows" | "next">> {
  const query = new URLSearchParams({
    thread: threadId,
    limit: "100",
    ...(cursor !== null && { cursor }),
  });
  const body = await request(`audit?${query.toString()}`, { signal });
  const page = isRecord(body) ? body : {};
  return { rows: recordsOf(page.items).map(readRow), next: textOrNull(page.nextCursor) };
}

function readRow(value: Record<string, unknown>): AuditRow {
  return {
    number: Number(value.number),
    at: textOrNull(value.at),
    kind: textOrNull(value.kind) ?? "unknown",
    digest: textOrNull(value.digest) ?? "",
    content: isRecord(value.content) ? value.content : undefined,
  };
}
