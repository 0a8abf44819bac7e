import { useState } from "react";
import { signInName, signOut } from "./signIn.js";
import { useWho } from "./who.js";

/** Who has signed in, and the way out; nothing where nobody has. */
export function Account({ before = "" }: { readonly before?: string }) {
  const who = useWho();
  const [failed, setFailed] = useState(false);
  if (who === undefined || who === null || signInName() === null) return null;
  return (
    <div className="account">
      <span
        className="account-name"
        title={who.roles.length > 0 ? who.roles.join(", ") : undefined}
      >
        {before}
        <strong>{who.subject}</strong>
        {who.roles.length > 0 && (
          <span className="sayso-quiet">{` · ${who.roles.join(", ")}`}</span>
        )}
      </span>
      <button
        type="button"
        className="quiet-button"
        onClick={() => {
          void signOut().then((ended) => {
            setFailed(!ended);
          });
        }}
      >
        Sign out
      </button>
      {failed && <span role="alert">Not signed out. Try again.</span>}
    </div>
  );
}
