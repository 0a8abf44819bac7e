import { accessChanged, serverFetch } from "./access.js";
import { said, serverUrl } from "./base.js";
import { forgetDrafts } from "./drafts.js";

// Tells other tabs of this browser, which share the session; they look again.
const KEY = "sayso-session";

/** Where people sign in, by name; null on a server that takes tokens alone. */
export function signInName(): string | null {
  return said(document, "sign-in");
}

/** The address that leads to a sign-in and back to this page; `seconds`: one that is so young. */
export function signInAddress(seconds?: number): string {
  const { pathname, search } = window.location;
  const back = new URLSearchParams({ return: pathname + search });
  if (seconds !== undefined) back.set("max_age", String(Math.floor(seconds)));
  return serverUrl(`login?${back.toString()}`);
}

/** Leads there. */
export function signInAgain(seconds: number): void {
  window.location.assign(signInAddress(seconds));
}

/** Ends the session, in all tabs, and forgets what was half written in them; false if it failed. */
export async function signOut(): Promise<boolean> {
  let response: Response;
  try {
    response = await serverFetch(serverUrl("logout"), { method: "POST" });
  } catch {
    return false;
  }
  if (!response.ok) return false;
  tellOtherTabs("out");
  forgetDrafts();
  accessChanged();
  return true;
}

/** Follows what other tabs do to the session; returns the way out. */
export function followOtherTabs(): () => void {
  const onStorage = ({ key, newValue }: StorageEvent) => {
    if (key !== KEY || newValue === null) return;
    if (newValue.startsWith("out")) forgetDrafts();
    accessChanged();
  };
  window.addEventListener("storage", onStorage);
  return () => {
    window.removeEventListener("storage", onStorage);
  };
}

/** Tells the other tabs of this browser that somebody is signed in now, or nobody. */
export function tellOtherTabs(what: "in" | "out"): void {
  try {
    localStorage.setItem(KEY, `${what} ${crypto.getRandomValues(new Uint32Array(1)).join("")}`);
  } catch {
    // They see it with their next request.
  }
}
