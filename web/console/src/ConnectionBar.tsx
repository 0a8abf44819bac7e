import { useEffect, useState } from "react";

/**
 * How a view stands with the server; `lost` is tried again at `retryAt` (epoch ms), `refused` is not
 * until somebody asks for it.
 */
export type Standing =
  | { readonly status: "lost"; readonly retryAt: number }
  | { readonly status: "refused"; readonly failure: { readonly message: string } }
  | { readonly status: string };

/** Says that the server is away, and when it is tried again, or that it refuses; else empty. */
export function ConnectionBar(props: {
  readonly connection: Standing;
  readonly onTryNow: () => void;
}) {
  const { connection, onTryNow } = props;
  const lost = connection.status === "lost" && "retryAt" in connection;
  const seconds = useCountdown(lost ? connection.retryAt : null);
  const refused = connection.status === "refused" && "failure" in connection;
  return (
    <div className="connection" data-lost={lost || refused}>
      <p role="status">
        {lost && `The server is away. ${seconds > 0 ? `Trying again in ${seconds} s.` : "Trying…"}`}
        {refused && `The server does not show this thread. ${connection.failure.message}`}
      </p>
      {(lost || refused) && (
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
