import { useId, useState, type SyntheticEvent } from "react";
import { setToken, useToken } from "./access.js";
import { forgetDrafts } from "./drafts.js";

/** Who is calling, as a token that every request carries; `short` is for a bar above a view. */
export function TokenForm({
  action = "Sign in",
  short = false,
}: {
  readonly action?: string;
  readonly short?: boolean;
}) {
  const token = useToken();
  const [text, setText] = useState("");
  const id = useId();
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    setToken(text);
    setText("");
  };
  return (
    <>
      <form className="token" onSubmit={submit}>
        <label htmlFor={id}>Token</label>
        <input
          id={id}
          className="sayso-input"
          type="password"
          autoComplete="off"
          value={text}
          aria-describedby={`${id}-hint`}
          onChange={({ target }) => {
            setText(target.value);
          }}
        />
        <button type="submit" className="sayso-button sayso-primary" disabled={text.trim() === ""}>
          {action}
        </button>
        {token !== "" && !short && (
          <button
            type="button"
            className="sayso-button"
            onClick={() => {
              forgetDrafts();
              setToken("");
            }}
          >
            Sign out
          </button>
        )}
      </form>
      <p id={`${id}-hint`} className={short ? "sayso-sr" : "sayso-quiet"}>
        Sent with every request, and kept in this tab only.
      </p>
      {!short && (
        <p role="status" className="token-status">
          {token === "" ? "No token is set." : "A token is set."}
        </p>
      )}
    </>
  );
}
