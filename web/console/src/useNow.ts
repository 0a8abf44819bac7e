import { useEffect, useState } from "react";

const TICK_MS = 30_000;

/** The time of a clock in epoch milliseconds, brought up to date twice a minute. */
export function useNow(clock: () => number = Date.now): number {
  const [now, setNow] = useState(clock);
  useEffect(() => {
    const timer = setInterval(() => {
      setNow(clock());
    }, TICK_MS);
    return () => {
      clearInterval(timer);
    };
  }, [clock]);
  return now;
}
