import { isRecord, recordsOf, request, textOrNull } from "../rest.js";

/** One row of the audit trail; without `content` it was erased, or is not what was written. */
export interface AuditRow {
  readonly number: number;
  readonly at: string | null;
  readonly kind: string;
  readonly digest: string;
  readonly erased: boolean;
  readonly content: Readonly<Record<string, unknown>> | undefined;
  /** What the signatures under what people said are worth; none where nothing is signed. */
  readonly signatures: readonly Signed[];
}

/** A signature under what one person said. */
export interface Signed {
  readonly by: string;
  readonly is: "valid" | "invalid" | "unknown" | "unsigned";
  readonly key: string | null;
  readonly at: string | null;
}

/** The rows of a thread or of the tenant, as far as they were read, and whether they still stand. */
export interface AuditTrail {
  readonly rows: readonly AuditRow[];
  readonly next: string | null;
  /** How many rows there are in all. */
  readonly count: number;
  /** The number of the first row that is not as it was written; null when all are. */
  readonly brokenAt: number | null;
  /** How many signatures are how. */
  readonly signatures: Readonly<Partial<Record<Signed["is"], number>>>;
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

/** Whose rows: a thread's by its id, or null for those that belong to no thread. */
export type Whose = string | null;

/** The first rows, and what their seals say. */
export async function fetchAudit(whose: Whose, signal: AbortSignal): Promise<AuditTrail> {
  const page = await fetchRows(whose, null, signal);
  const path = whose === null ? "audit?of=tenant&check=true" : `audit/${encodeURIComponent(whose)}`;
  // It reads every row: how long that takes only the trail says.
  const body = await request(path, { signal, takesLong: true });
  const answer = isRecord(body) ? body : {};
  const chain = whose === null ? (isRecord(answer.chain) ? answer.chain : {}) : answer;
  const broken = chain.intact === true ? null : Number(chain.brokenAt ?? 0);
  const differs = recordsOf(chain.differs).map(({ interruptId, member, trail, record }) => ({
    interruptId: textOrNull(interruptId) ?? "",
    member: textOrNull(member) ?? "",
    trail,
    record,
  }));
  const count = Number(chain.rows ?? page.rows.length);
  const signatures = isRecord(chain.signatures) ? chain.signatures : {};
  return { ...page, count, brokenAt: broken, differs, signatures };
}

/** A page of rows, oldest first, and where the next one begins. */
export async function fetchRows(
  whose: Whose,
  cursor: string | null,
  signal: AbortSignal,
): Promise<Pick<AuditTrail, "rows" | "next">> {
  const query = new URLSearchParams({
    ...(whose === null ? { of: "tenant" } : { thread: whose }),
    limit: "100",
    ...(cursor !== null && { cursor }),
  });
  const body = await request(`audit?${query.toString()}`, { signal });
  const page = isRecord(body) ? body : {};
  return { rows: recordsOf(page.items).map(readRow), next: textOrNull(page.nextCursor) };
}

/** True if the caller is an auditor, as far as the server says. */
export async function fetchIsAuditor(signal: AbortSignal): Promise<boolean> {
  const body = await request("me", { signal });
  return isRecord(body) && Array.isArray(body.roles) && body.roles.includes("auditor");
}

function readRow(value: Record<string, unknown>): AuditRow {
  return {
    number: Number(value.number),
    at: textOrNull(value.at),
    kind: textOrNull(value.kind) ?? "unknown",
    digest: textOrNull(value.digest) ?? "",
    erased: value.erased === true,
    content: isRecord(value.content) ? value.content : undefined,
    signatures: recordsOf(value.signatures).map(readSigned),
  };
}

function readSigned({ by, is, key, at }: Record<string, unknown>): Signed {
  return {
    by: textOrNull(by) ?? "",
    // What this page does not know it does not pass.
    is: is === "valid" || is === "invalid" || is === "unsigned" ? is : "unknown",
    key: textOrNull(key),
    at: textOrNull(at),
  };
}
