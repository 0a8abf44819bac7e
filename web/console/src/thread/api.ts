import { isRecord, recordsOf, request, textOrNull } from "../rest.js";
import { readRow, readThread, type ThreadRecord, type ThreadRow } from "./records.js";

const MAX_PAGES = 20;

/** A page of threads, newest first, and where the next one begins. */
export async function fetchThreads(
  cursor: string | null,
  signal: AbortSignal,
): Promise<{ readonly rows: readonly ThreadRow[]; readonly next: string | null }> {
  const query = new URLSearchParams({ limit: "50", ...(cursor !== null && { cursor }) });
  const body = await request(`threads?${query.toString()}`, { signal });
  const page = isRecord(body) ? body : {};
  return { rows: recordsOf(page.items).map(readRow), next: textOrNull(page.nextCursor) };
}

/** Everything about one thread: what happened, and where it stands. */
export async function fetchThread(threadId: string, signal: AbortSignal): Promise<ThreadRecord> {
  const path = `threads/${encodeURIComponent(threadId)}`;
  const state = await request(`${path}/state`, { signal });
  const runs: Record<string, unknown>[] = [];
  let history: Record<string, unknown> = {};
  let cursor: string | null = null;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const query = new URLSearchParams({ limit: "1000", ...(cursor !== null && { cursor }) });
    const body = await request(`${path}/history?${query.toString()}`, { signal });
    history = isRecord(body) ? body : {};
    runs.push(...recordsOf(history.runs));
    cursor = textOrNull(history.nextCursor);
    if (cursor === null) break;
  }
  return readThread(runs, history, isRecord(state) ? state : {});
}

/** Ends what a thread is doing; its open questions are cancelled. False when it did nothing. */
export async function stopThread(threadId: string): Promise<boolean> {
  const path = `threads/${encodeURIComponent(threadId)}/stop`;
  const body = await request(path, { method: "POST", body: {} });
  return isRecord(body) && body.stopped === true;
}
