import { isRecord, recordsOf, request, textOrNull } from "../rest.js";

/** A yes that was remembered: for which calls it stands, who gave it, and how often it was used. */
export interface Remembered {
  readonly id: string;
  readonly tool: string;
  /** Arguments that it stands for: the same, those like a pattern, or any. */
  readonly matches: string;
  readonly args: unknown;
  /** The thread it is limited to; null for all of its owner's. */
  readonly threadId: string | null;
  readonly givenBy: string | null;
  readonly givenAt: string | null;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
  readonly revokedBy: string | null;
  readonly uses: number;
  readonly lastUsedAt: string | null;
}

/** A page of what is remembered, and where the next one begins. */
export async function fetchRemembered(
  cursor: string | null,
  signal?: AbortSignal,
): Promise<{ readonly rows: readonly Remembered[]; readonly next: string | null }> {
  const query = new URLSearchParams({ limit: "50", ...(cursor !== null && { cursor }) });
  const options = signal === undefined ? {} : { signal };
  const body = await request(`approvals?${query.toString()}`, options);
  const page = isRecord(body) ? body : {};
  return { rows: recordsOf(page.items).map(read), next: textOrNull(page.nextCursor) };
}

/** Takes a remembered yes back: from now on such calls ask again. */
export async function revoke(id: string): Promise<Remembered> {
  const body = await request(`approvals/${encodeURIComponent(id)}`, { method: "DELETE" });
  return read(isRecord(body) ? body : { id });
}

function read(value: Record<string, unknown>): Remembered {
  return {
    id: String(value.id),
    tool: textOrNull(value.tool) ?? "",
    matches: textOrNull(value.matches) ?? "same",
    args: value.arguments,
    threadId: textOrNull(value.threadId),
    givenBy: textOrNull(value.givenBy),
    givenAt: textOrNull(value.givenAt),
    expiresAt: textOrNull(value.expiresAt),
    revokedAt: textOrNull(value.revokedAt),
    revokedBy: textOrNull(value.revokedBy),
    uses: typeof value.uses === "number" ? value.uses : 0,
    lastUsedAt: textOrNull(value.lastUsedAt),
  };
}
