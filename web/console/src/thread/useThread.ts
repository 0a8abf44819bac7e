import { useEffect, useReducer, useState } from "react";
import { onSignInChange } from "../who.js";
import { isDenied, canTryAgain, type ServerError } from "../rest.js";
import { fetchThread } from "./api.js";
import type { ThreadRecord } from "./records.js";

/** How a thread stands here; what was read stays on the screen while the server is away. */
export interface ThreadLook {
  readonly thread: ThreadRecord | null;
  readonly error: ServerError | Error | null;
  /** When it is tried again by itself, in epoch milliseconds. */
  readonly retryAt: number | null;
  readonly again: () => void;
}

const RETRY_MS = 2000;
const BUSY_MS = 1500;

/** Reads a thread, again whenever `moment` changes, and every moment while something goes on in it. */
export function useThread(threadId: string, moment: unknown): ThreadLook {
  const [look, setLook] = useState<Omit<ThreadLook, "again">>({
    thread: null,
    error: null,
    retryAt: null,
  });
  const [attempt, again] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const later = (wait: number) => {
      timer = setTimeout(again, wait);
    };
    fetchThread(threadId, abort.signal).then(
      (thread) => {
        setLook({ thread, error: null, retryAt: null });
        if (thread.row.running) later(BUSY_MS);
      },
      (error: unknown) => {
        if (abort.signal.aborted) return;
        const final = isDenied(error) || !canTryAgain(error);
        const shown = error instanceof Error ? error : new Error(String(error));
        setLook(({ thread }) => ({
          thread: final ? null : thread,
          error: shown,
          retryAt: final ? null : Date.now() + RETRY_MS,
        }));
        if (!final) later(RETRY_MS);
      },
    );
    const forget = onSignInChange(again);
    window.addEventListener("focus", again);
    return () => {
      abort.abort();
      forget();
      window.removeEventListener("focus", again);
      clearTimeout(timer);
    };
  }, [threadId, moment, attempt]);
  return { ...look, again };
}
