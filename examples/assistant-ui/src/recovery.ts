import { useCallback, useEffect, useRef, useState } from "react";

// After a request that did not reach the server, or a run that failed, assistant-ui has dropped its
// questions while its agent may still wait for them. So both are made anew, which loads the thread as
// the server has it; with patience while the server cannot be reached.
const WAITS_MS = [0, 1_000, 2_000, 5_000, 10_000];
const CALM_MS = 30_000;

export interface Recovery {
  /** Changes when everything has to be made anew: a part of the conversation's key. */
  generation: number;
  /** What went wrong last, for the person; gone when they go on. */
  trouble: string | undefined;
  dismiss: () => void;
  /** For the runtime. */
  onError: (error: Error) => void;
  /** Loads the thread anew. */
  again: () => void;
}

export function useRecovery(): Recovery {
  const [generation, setGeneration] = useState(0);
  const [trouble, setTrouble] = useState<string>();
  const timer = useRef<number | undefined>(undefined);
  const attempts = useRef({ count: 0, at: 0 });
  useEffect(() => () => window.clearTimeout(timer.current), []);

  const again = useCallback(() => setGeneration((last) => last + 1), []);
  const onError = useCallback(
    (error: Error) => {
      setTrouble(error.message);
      if (timer.current !== undefined) return; // one failure is told more than once
      const now = Date.now();
      const count = now - attempts.current.at > CALM_MS ? 0 : attempts.current.count;
      attempts.current = { count: count + 1, at: now };
      timer.current = window.setTimeout(
        () => {
          timer.current = undefined;
          again();
        },
        WAITS_MS[Math.min(count, WAITS_MS.length - 1)],
      );
    },
    [again],
  );
  return { generation, trouble, dismiss: () => setTrouble(undefined), onError, again };
}
