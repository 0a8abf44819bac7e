import type { ReactNode } from "react";
import { Link, NavLink } from "react-router";
import { Account } from "./Account.js";
import { useSharedInbox, waitingIn } from "./inbox/InboxProvider.js";
import { useTheme, type Theme } from "./theme.js";

const NEXT: Readonly<Record<Theme, Theme>> = { system: "light", light: "dark", dark: "system" };
const NAMES: Readonly<Record<Theme, string>> = { system: "Auto", light: "Light", dark: "Dark" };

/** The page around every view: the name, what the view puts beside it, the theme. */
export function Layout({
  tools,
  children,
}: {
  readonly tools: ReactNode;
  readonly children: ReactNode;
}) {
  const [theme, setTheme] = useTheme();
  return (
    <div className="frame">
      <a className="skip" href="#main">
        Skip to content
      </a>
      <header className="bar">
        <Link to="/" className="brand" aria-label="Sayso, start page">
          <svg viewBox="0 0 20 20" aria-hidden="true">
            <path d="M4 3v14M16 3v14" />
            <circle cx="10" cy="10" r="2.4" />
          </svg>
          sayso
        </Link>
        <Nav />
        <div className="bar-tools">{tools}</div>
        <Account />
        <button
          type="button"
          className="quiet-button theme-button"
          title="Change the theme"
          aria-label={`Theme: ${NAMES[theme]}. Change it`}
          onClick={() => {
            setTheme(NEXT[theme]);
          }}
        >
          <svg viewBox="0 0 16 16" aria-hidden="true">
            <circle cx="8" cy="8" r="6.25" />
            <path d="M8 1.75a6.25 6.25 0 0 1 0 12.5z" />
          </svg>
          <span className="wide">{NAMES[theme]}</span>
        </button>
      </header>
      {children}
    </div>
  );
}

function Nav() {
  const open = waitingIn(useSharedInbox().state);
  return (
    <nav className="nav" aria-label="Views">
      <NavLink to="/play">Playground</NavLink>
      <NavLink to="/inbox">
        Inbox
        {open > 0 && (
          <span className="badge">
            {open > 99 ? "99+" : open}
            <span className="sayso-sr"> open</span>
          </span>
        )}
      </NavLink>
      <NavLink to="/thread">Conversations</NavLink>
      <NavLink to="/settings">Settings</NavLink>
    </nav>
  );
}
