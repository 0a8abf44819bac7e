import type { Failure } from "@sayso/react";
import { canRetry, failureText } from "@sayso/react/core";
import { useEffect, useState } from "react";

/** A view's connection: `lost` is tried again at `retryAt` (epoch ms), `refused` only on request. */
export type ConnectionStatus =
  | { readonly status: "lost"; readonly retryAt: number }
  | { readonly status: "refused"; readonly failure: Failure }
  | { readonly status: string };

/** Says that the server is away, and when it is tried again, or that it refuses; else empty. */
export function ConnectionBar(props: {
  readonly connection: ConnectionStatus;
  readonly onTryNow: () => void;
}) {
  const { connection, onTryNow } = props;
  const lost = connection.status === "lost" && "retryAt" in connection;
  const seconds = useCountdown(lost ? connection.retryAt : null);
  const refused = connection.status === "refused" && "failure" in connection;
  const helps = lost || (refused && canRetry(connection.failure));
  return (
    <div className="connection" data-lost={lost || refused}>
      <p role="status">
        {lost &&
          `The connection is lost. ${seconds > 0 ? `Trying again in ${seconds} s.` : "Trying…"}`}
        {refused && `This conversation cannot be shown. ${failureText(connection.failure)}`}
      </p>
      {helps && (
        <button type="button" className="sayso-button sayso-small" onClick={onTryNow}>
          Try now
        </button>
      )}
    </div>
  );
}

function useCountdown(until: number | null): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (until === null) return undefined;
    const tick = setInterval(() => {
      setNow(Date.now());
    }, 500);
    return () => {
      clearInterval(tick);
    };
  }, [until]);
  return until === null ? 0 : Math.max(0, Math.ceil((until - now) / 1000));
}
