"use client";

import { useEffect, useState } from "react";
import { formatRemaining } from "../core/index.js";

/** Moments at which the time left is said aloud, in seconds. */
const SPOKEN = [3600, 600, 300, 60, 30, 10] as const;

/**
 * The time left to answer. It is shown each second, but spoken only at a few moments, so that a
 * screen reader is not talked over.
 */
export function Countdown({
  until,
  since = null,
  clock,
}: {
  readonly until: number;
  /** When it was asked: no more is left than there was then. */
  readonly since?: number | null;
  readonly clock: () => number;
}) {
  const [now, setNow] = useState(clock);
  const left = Math.min(until - now, since === null ? Infinity : until - since);
  const over = left <= 0;
  useEffect(() => {
    const tick = setInterval(() => {
      setNow(clock());
    }, 1000);
    return () => {
      clearInterval(tick);
    };
  }, [clock]);
  const seconds = Math.ceil(left / 1000);
  const spoken = SPOKEN.filter((item) => item >= seconds).at(-1);
  return (
    <span className="sayso-countdown" data-urgent={seconds <= 60}>
      <span aria-hidden="true">{over ? "expired" : formatRemaining(left)}</span>
      <span className="sayso-sr" role="timer" aria-live="polite">
        {over
          ? "The deadline has passed."
          : `Less than ${formatRemaining((spoken ?? Math.ceil(seconds / 3600) * 3600) * 1000)} left to answer.`}
      </span>
    </span>
  );
}
