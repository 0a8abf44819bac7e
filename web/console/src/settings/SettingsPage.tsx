import { useId } from "react";
import { Account } from "../Account.js";
import { signInName } from "../signIn.js";
import { TokenForm } from "../TokenForm.js";
import { Layout } from "../Layout.js";
import { useNotifying } from "../notify.js";
import { useShortcutsOn } from "../shortcuts.js";
import { UNDO } from "../inbox/InboxProvider.js";
import { NEXT } from "../inbox/useNextQuestion.js";
import { useSwitch } from "../switches.js";
import { useTheme, type Theme } from "../theme.js";
import { useTitle } from "../title.js";
import { useAgents } from "../useAgents.js";
import { Capabilities } from "./Capabilities.js";
import { RememberedSection } from "./RememberedSection.js";

const THEMES: readonly (readonly [theme: Theme, label: string])[] = [
  ["system", "System"],
  ["light", "Light"],
  ["dark", "Dark"],
];

/** Who one is to the server, how the console looks, and what the server can do. */
export function SettingsPage() {
  const [theme, setTheme] = useTheme();
  const [keys, setKeys] = useShortcutsOn();
  const [next, setNext] = useSwitch(NEXT);
  const [undo, setUndo] = useSwitch(UNDO);
  const list = useAgents();
  useTitle(0, "Settings");
  return (
    <Layout tools={null}>
      <main className="settings" id="main" tabIndex={-1}>
        <h1>Settings</h1>
        <section aria-labelledby="token-title">
          <h2 id="token-title">Access</h2>
          {signInName() === null ? <TokenForm /> : <Account before="Signed in as " />}
        </section>
        <section aria-labelledby="look-title">
          <h2 id="look-title">Appearance and keyboard</h2>
          <fieldset className="themes">
            <legend>Theme</legend>
            {THEMES.map(([value, label]) => (
              <label key={value} className="switch">
                <input
                  type="radio"
                  name="theme"
                  checked={theme === value}
                  onChange={() => {
                    setTheme(value);
                  }}
                />
                {label}
              </label>
            ))}
          </fieldset>
          <label className="switch switch-line">
            <input
              type="checkbox"
              checked={keys}
              onChange={({ target }) => {
                setKeys(target.checked);
              }}
            />
            Enable keyboard shortcuts in the inbox
          </label>
          <label className="switch switch-line">
            <input
              type="checkbox"
              checked={next}
              onChange={({ target }) => {
                setNext(target.checked);
              }}
            />
            Open the next question after a decision
          </label>
          <label className="switch switch-line">
            <input
              type="checkbox"
              checked={undo}
              onChange={({ target }) => {
                setUndo(target.checked);
              }}
            />
            Wait 5 seconds before an approval or a denial in the inbox is sent, so that you can undo
            it
          </label>
          <Notifications />
        </section>
        <RememberedSection />
        <section aria-labelledby="agents-title">
          <h2 id="agents-title">Agents and capabilities</h2>
          {list.status === "loading" && <p className="sayso-quiet">Loading…</p>}
          {list.status === "denied" && <p className="sayso-quiet">{list.message}</p>}
          {list.status === "failed" && (
            <p role="alert">
              {list.message}{" "}
              {list.retry !== null && (
                <button type="button" className="sayso-button sayso-small" onClick={list.retry}>
                  Try now
                </button>
              )}
            </p>
          )}
          {list.status === "ready" && list.agents.length === 0 && (
            <p className="sayso-quiet">This server has no agents.</p>
          )}
          {list.status === "ready" &&
            list.agents.map((agent) => (
              <Capabilities key={agent.name} agent={agent} alone={list.agents.length === 1} />
            ))}
        </section>
      </main>
    </Layout>
  );
}

function Notifications() {
  const [state, setOn] = useNotifying();
  const id = useId();
  if (state === "absent") return null;
  return (
    <>
      <label className="switch switch-line">
        <input
          type="checkbox"
          checked={state === "on"}
          disabled={state === "denied"}
          aria-describedby={id}
          onChange={({ target }) => {
            setOn(target.checked);
          }}
        />
        Notify me about new questions
      </label>
      <p id={id} className="sayso-quiet switch-hint">
        {state === "denied"
          ? "This browser blocks notifications. Allow them for this site first."
          : "Your browser will ask for permission."}
      </p>
    </>
  );
}
