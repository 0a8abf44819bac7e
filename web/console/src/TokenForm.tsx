import { useId, useState, type SyntheticEvent } from "react";
import { setToken, useToken } from "./access.js";

/** Who is calling, as a token that every request carries. */
export function TokenForm({ action = "Sign in" }: { readonly action?: string }) {
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
        {token !== "" && (
          <button
            type="button"
            className="sayso-button"
            onClick={() => {
              setToken("");
            }}
          >
            Sign out
          </button>
        )}
      </form>
      <p id={`${id}-hint`} className="sayso-quiet">
        Sent with every request, and kept in this tab only.
      </p>
      <p role="status" className="token-status">
        {token === "" ? "No token is set." : "A token is set."}
      </p>
    </>
  );
}
