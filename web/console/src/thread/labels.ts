import type { ThreadRow } from "./records.js";

/** Where a thread stands, in words; `busy` means that there is something to stop. */
export function statusOf(row: ThreadRow): {
  readonly words: string;
  readonly tone: string;
  readonly busy: boolean;
} {
  if (row.running) return { words: "Working", tone: "running", busy: true };
  if (row.open > 0) {
    const words = row.open === 1 ? "1 question open" : `${row.open} questions open`;
    return { words, tone: "awaiting", busy: true };
  }
  if (row.status === "suspended" || row.status === "running") {
    return { words: "Waiting", tone: "awaiting", busy: true };
  }
  if (row.outcome === "error" || row.status === "failed") {
    return { words: "Failed", tone: "failed", busy: false };
  }
  if (row.outcome === "cancelled" || row.status === "cancelled") {
    return { words: "Stopped", tone: "idle", busy: false };
  }
  return { words: "Finished", tone: "idle", busy: false };
}
