import type { Status } from "./machine.js";

/** The parts of a page that following needs; `document` and `window` together are one. */
export interface Page {
  readonly hidden: () => boolean;
  /**
   * Calls back when the page is looked at again, thawed, or the network is back; returns the way out.
   */
  readonly onReturn: (callback: () => void) => () => void;
  /**
   * Calls back when nobody looks at the page any more, and when it goes away: what is to be sent
   * leaves then, as no later moment may come. Returns the way out.
   */
  readonly onLeave?: (callback: () => void) => () => void;
}

/** The page this code runs in, or a page nobody looks at when there is none. */
export function browserPage(): Page {
  if (typeof document === "undefined")
    return { hidden: () => true, onReturn: () => () => undefined };
  const visible = () => document.visibilityState === "visible";
  return {
    hidden: () => !visible(),
    onReturn: (callback) => {
      const returned = () => {
        if (visible()) callback();
      };
      const stops = [
        listen(document, ["visibilitychange"], returned),
        listen(window, ["focus", "online", "pageshow"], callback),
        listen(document, ["resume"], callback),
      ];
      return () => {
        for (const stop of stops) stop();
      };
    },
    onLeave: (callback) => {
      const hidden = () => {
        if (!visible()) callback();
      };
      const stops = [
        listen(document, ["visibilitychange"], hidden),
        listen(window, ["pagehide"], callback),
      ];
      return () => {
        for (const stop of stops) stop();
      };
    },
  };
}

function listen(target: EventTarget, types: readonly string[], callback: () => void): () => void {
  for (const type of types) target.addEventListener(type, callback);
  return () => {
    for (const type of types) target.removeEventListener(type, callback);
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
