"use client";

import { useEffect, useState } from "react";
import { formatRemaining, type InterruptView } from "../core/index.js";
import { Fold } from "./Fold.js";
import { resultOf } from "./outcome.js";
import { PlainText } from "./PlainText.js";

/** What came of the call that was decided: said when it comes, at the end of its card. */
export function ResultLine(props: { readonly view: InterruptView; readonly clock: () => number }) {
  const { view, clock } = props;
  const result = resultOf(view);
  return (
    <div className="sayso-result" data-tone={result?.tone} aria-live="polite">
      {result !== null && (
        <Fold text={result.text ?? ""}>
          <strong>
            <PlainText text={result.title} />
          </strong>
          {result.text !== null && (
            <span dir="auto">
              {" "}
              <PlainText text={result.text} />
            </span>
          )}
          {result.since !== null && <Seconds since={result.since} clock={clock} />}
        </Fold>
      )}
    </div>
  );
}

/** The time since then, shown each second; nobody wants to hear it each second. */
function Seconds({ since, clock }: { readonly since: number; readonly clock: () => number }) {
  const [now, setNow] = useState(clock);
  useEffect(() => {
    const tick = setInterval(() => {
      setNow(clock());
    }, 1000);
    return () => {
      clearInterval(tick);
    };
  }, [clock]);
  return (
    <span className="sayso-quiet" aria-hidden="true">
      {` ${formatRemaining(Math.max(1, now - since))}`}
    </span>
  );
}
