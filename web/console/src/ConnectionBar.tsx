import type { Failure } from "@sayso/react";
import { canRetry, failureText } from "@sayso/react/core";
import { useEffect, useState } from "react";
import { signInAddress, signInName } from "./signIn.js";
import { TokenForm } from "./TokenForm.js";

/** A view's connection: `lost` is tried again at `retryAt` (epoch ms), `refused` only on request. */
export type ConnectionStatus =
  | { readonly status: "lost"; readonly retryAt: number }
  | { readonly status: "refused"; readonly failure: Failure }
  | { readonly status: string };

/** True if the server knows its reader no more, such as after the end of a sign-in. */
export function isSignedOut(connection: ConnectionStatus): boolean {
  return (
    connection.status === "refused" &&
    "failure" in connection &&
    connection.failure.httpStatus === 401
  );
}

/**
 * Says that the server is away, and when it is tried again, or that it refuses; else empty. Whoever
 * has to sign in again does so here. Both come and go by themselves, so they are said above the view
 * and move nothing: a button that moves under a press gets no click.
 */
export function ConnectionBar(props: {
  readonly connection: ConnectionStatus;
  readonly onTryNow: () => void;
}) {
  const { connection, onTryNow } = props;
  const lost = connection.status === "lost" && "retryAt" in connection;
  const seconds = useCountdown(lost ? connection.retryAt : null);
  const refused = connection.status === "refused" && "failure" in connection;
  const signedOut = isSignedOut(connection);
  const name = signInName();
  const helps = lost || (refused && !signedOut && canRetry(connection.failure));
  return (
    <div className="connection" data-status={lost ? "lost" : refused ? "refused" : "ready"}>
      <div className="connection-line">
        <p role="status">
          {lost &&
            `The connection is lost. ${seconds > 0 ? `Trying again in ${seconds} s.` : "Trying…"}`}
          {refused && (signedOut ? "" : "This conversation cannot be shown. ")}
          {refused && failureText(connection.failure)}
        </p>
        {signedOut && name === null && <TokenForm short />}
        {signedOut && name !== null && (
          <a className="sayso-button sayso-small" href={signInAddress()}>
            Sign in
          </a>
        )}
        {helps && (
          <button type="button" className="sayso-button sayso-small" onClick={onTryNow}>
            Try now
          </button>
        )}
      </div>
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
