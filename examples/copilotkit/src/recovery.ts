import { useCallback, useEffect, useRef, useState } from "react";

// A run that failed leaves CopilotKit's agent without its card, yet waiting: it takes no message and
// loads nothing until it is made anew. So it is made anew, which loads the thread as the server has
// it; with patience while the server cannot be reached.
const FAILED = new Set([
  "agent_run_failed",
  "agent_run_failed_event",
  "agent_run_error_event",
  "agent_connect_failed",
  "runtime_info_fetch_failed",
]);
const WAITS_MS = [0, 1_000, 2_000, 5_000, 10_000];
const CALM_MS = 30_000;

export interface Recovery {
  /** Changes when everything has to be made anew: a part of the provider's key. */
  generation: number;
  /** What went wrong last, for the person; gone when they go on. */
  trouble: string | undefined;
  dismiss: () => void;
  /** For the provider. */
  onError: (event: { error: Error; code: string }) => void;
}

export function useRecovery(): Recovery {
  const [generation, setGeneration] = useState(0);
  const [trouble, setTrouble] = useState<string>();
  const timer = useRef<number | undefined>(undefined);
  const attempts = useRef({ count: 0, at: 0 });
  useEffect(() => () => window.clearTimeout(timer.current), []);

  const onError = useCallback(({ error, code }: { error: Error; code: string }) => {
    if (!FAILED.has(code)) return;
    setTrouble(error.message);
    if (timer.current !== undefined) return; // one failure is told more than once
    const now = Date.now();
    const count = now - attempts.current.at > CALM_MS ? 0 : attempts.current.count;
    attempts.current = { count: count + 1, at: now };
    timer.current = window.setTimeout(
      () => {
        timer.current = undefined;
        setGeneration((last) => last + 1);
      },
      WAITS_MS[Math.min(count, WAITS_MS.length - 1)],
    );
  }, []);
  return { generation, trouble, dismiss: () => setTrouble(undefined), onError };
}
