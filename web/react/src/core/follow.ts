import type { Status } from "./machineState.js";

/** What following needs of a page; `document` and `window` together are one. */
export interface Page {
  readonly hidden: () => boolean;
  /** Calls back when the page is looked at again or the network is back; returns the way out. */
  readonly onReturn: (callback: () => void) => () => void;
  /** Calls back when nobody looks at the page any more; returns the way out. */
  readonly onLeave?: (callback: () => void) => () => void;
}

/** The page this code runs in, or a page nobody looks at when there is none. */
export function browserPage(): Page {
  if (typeof document === "undefined")
    return { hidden: () => true, onReturn: () => () => undefined };
  return {
    hidden: () => document.visibilityState === "hidden",
    onReturn: (callback) => {
      const visible = () => {
        if (document.visibilityState === "visible") callback();
      };
      document.addEventListener("visibilitychange", visible);
      window.addEventListener("focus", callback);
      window.addEventListener("online", callback);
      return () => {
        document.removeEventListener("visibilitychange", visible);
        window.removeEventListener("focus", callback);
        window.removeEventListener("online", callback);
      };
    },
    onLeave: (callback) => {
      const hidden = () => {
        if (document.visibilityState === "hidden") callback();
      };
      document.addEventListener("visibilitychange", hidden);
      return () => {
        document.removeEventListener("visibilitychange", hidden);
      };
    },
  };
}

/** How long to wait between two looks while questions are open (ms); null: do not look. */
export function pollEvery(status: Status, pollMs: number): number | null {
  switch (status) {
    case "awaiting":
    case "failed":
      return pollMs;
    case "expired":
      return Math.min(pollMs, 2000);
    case "idle":
    case "running":
    case "submitting":
    case "stale":
      return null;
    default:
      return status satisfies never;
  }
}

const BACKOFF_MS = [500, 1000, 2000, 4000, 8000, 15_000] as const;

/** The wait before the next try to reach a server that was away `attempt` times (from 0). */
export function backoff(attempt: number): number {
  return BACKOFF_MS[Math.min(attempt, BACKOFF_MS.length - 1)] ?? 15_000;
}
