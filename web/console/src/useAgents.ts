import { useEffect, useState } from "react";
import { onSignInChange } from "./who.js";
import { fetchAgents, type AgentSummary } from "./api.js";
import { isDenied, canTryAgain } from "./rest.js";

/**
 * How the list of agents stands. `failed` is tried again by itself, unless `retry` is null since that
 * cannot help; `denied` with another token.
 */
export type AgentList =
  | { readonly status: "loading" }
  | { readonly status: "denied"; readonly message: string }
  | { readonly status: "ready"; readonly agents: readonly AgentSummary[] }
  | { readonly status: "failed"; readonly message: string; readonly retry: (() => void) | null };

const RETRY_MS = 2000;

/** The server's agents; while it is away they are asked for again every two seconds. */
export function useAgents(): AgentList {
  const [list, setList] = useState<AgentList>({ status: "loading" });
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const again = () => {
      clearTimeout(timer);
      setAttempt((count) => count + 1);
    };
    fetchAgents(abort.signal).then(
      (agents) => {
        setList({ status: "ready", agents });
      },
      (error: unknown) => {
        if (abort.signal.aborted) return;
        const message = error instanceof Error ? error.message : String(error);
        if (isDenied(error)) {
          setList({ status: "denied", message });
          return;
        }
        const helps = canTryAgain(error);
        setList({ status: "failed", message, retry: helps ? again : null });
        if (helps) timer = setTimeout(again, RETRY_MS);
      },
    );
    const forget = onSignInChange(again);
    return () => {
      forget();
      abort.abort();
      clearTimeout(timer);
    };
  }, [attempt]);
  return list;
}
