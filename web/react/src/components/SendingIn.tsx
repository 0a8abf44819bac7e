"use client";

import { useEffect, useState } from "react";
import { formatRemaining } from "../core/index.js";

/** How long an answer still waits: shown each second, and said once. */
export function SendingIn({ at, clock }: { readonly at: number; readonly clock: () => number }) {
  const [now, setNow] = useState(clock);
  const [whole] = useState(() => formatRemaining(at - clock()));
  useEffect(() => {
    const tick = setInterval(() => {
      setNow(clock());
    }, 250);
    return () => {
      clearInterval(tick);
    };
  }, [clock]);
  return (
    <span>
      . Sending in <span aria-hidden="true">{formatRemaining(Math.max(1, at - now))}</span>
      <span className="sayso-sr">{whole}</span>
    </span>
  );
}
