import { useSyncExternalStore } from "react";

/** Light, dark, or whatever the system says. */
export type Theme = "system" | "light" | "dark";

const KEY = "sayso-theme";
const listeners = new Set<() => void>();

/** Puts the remembered theme onto the page; call it before the first paint. */
export function applyTheme(): void {
  const theme = read();
  if (theme === "system") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.setAttribute("data-theme", theme);
}

/** The theme and the means to change it; it is remembered in this browser. */
export function useTheme(): readonly [Theme, (theme: Theme) => void] {
  const theme = useSyncExternalStore(subscribe, read);
  return [theme, choose];
}

function choose(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Without storage the choice holds until the page is left.
  }
  chosen = theme;
  applyTheme();
  for (const listener of listeners) listener();
}

let chosen: Theme | null = null;

function read(): Theme {
  if (chosen !== null) return chosen;
  let stored: string | null = null;
  try {
    stored = localStorage.getItem(KEY);
  } catch {
    stored = null;
  }
  return stored === "light" || stored === "dark" ? stored : "system";
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
}
