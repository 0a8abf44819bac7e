import { useEffect, useState } from "react";

/** How a view stands with the server; `lost` is tried again at `retryAt` (epoch ms). */
export type Standing =
  { readonly status: "lost"; readonly retryAt: number } | { readonly status: string };

/** Says that the server is away and when it is tried again; empty while all is well. */
export function ConnectionBar(props: {
  readonly connection: Standing;
  readonly onTryNow: () => void;
}) {
  const { connection, onTryNow } = props;
  const lost = connection.status === "lost" && "retryAt" in connection;
  const seconds = useCountdown(lost ? connection.retryAt : null);
  return (
    <div className="connection" data-lost={lost}>
      <p role="status">
        {lost && `The server is away. ${seconds > 0 ? `Trying again in ${seconds} s.` : "Trying…"}`}
      </p>
      {lost && (
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
