import { useSyncExternalStore } from "react";
import { onAccessChange, serverFetch } from "./access.js";
import { serverUrl } from "./base.js";
import { inTime } from "./inTime.js";
import { isRecord, textOrNull } from "./rest.js";

/** Somebody whom the server knows: `lea`, a lead, of the tenant `default`. */
export interface Person {
  readonly scope: string;
  readonly subject: string;
  readonly roles: readonly string[];
}

/** Who is at this page; undefined until the server has said so, null for nobody that it knows. */
export type Who = Person | null | undefined;

const RETRY_MS = 2000;
/** How long the server may take to say who is there before it is asked again. */
const PATIENCE_MS = 10_000;

let who: Who;
// The server took too long to say it, and the page waits for nothing else.
let isLate = false;
let latest = 0;
// Until the server has said who is there since the sign-in changed, it may be anybody.
let isUncertain = false;
let retry: ReturnType<typeof setTimeout> | undefined;
let stopFollowing: (() => void) | undefined;
const readers = new Set<() => void>();
const listeners = new Set<() => void>();

/** Who is at this page. What a page keeps of a person is shown to no other one. */
export function useWho(): Who {
  return useSyncExternalStore(subscribe, () => who);
}

/** True if the page still waits to hear who is there, and the server takes long to say it. */
export function useWhoIsLate(): boolean {
  return useSyncExternalStore(subscribe, () => isLate);
}

/**
 * Calls back when the sign-in has changed and the same person is there as before, or still nobody;
 * returns the way out. For anybody else the whole page begins anew.
 */
export function onSignInChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
}

function subscribe(reader: () => void): () => void {
  readers.add(reader);
  stopFollowing ??= follow();
  return () => {
    readers.delete(reader);
    if (readers.size > 0) return;
    stopFollowing?.();
    stopFollowing = undefined;
  };
}

/** Asks at once, and again whenever it may be somebody else: so it may be after a while away. */
function follow(): () => void {
  const onReturn = () => {
    if (document.visibilityState === "visible") void ask();
  };
  const onAccess = () => {
    isUncertain = true;
    void ask();
  };
  const forget = onAccessChange(onAccess);
  document.addEventListener("visibilitychange", onReturn);
  onAccess();
  return () => {
    forget();
    document.removeEventListener("visibilitychange", onReturn);
    clearTimeout(retry);
    latest += 1;
  };
}

/**
 * Asks until the server says who is there. If the sign-in has changed, a page whose server cannot be
 * asked stands for nobody meanwhile. While one only takes its time that is not known: the requests of
 * the page would be somebody's.
 */
async function ask(): Promise<void> {
  clearTimeout(retry);
  const turn = ++latest;
  const said = await fetchWho();
  if (turn !== latest) return;
  const isSaid = said !== undefined && said !== "late";
  if (!isSaid) retry = setTimeout(() => void ask(), RETRY_MS);
  const unsaid = !isUncertain ? who : said === "late" ? undefined : null;
  const next = isSaid ? said : unsaid;
  const stays = who !== undefined && next !== undefined && keyOf(who) === keyOf(next);
  who = next;
  isLate = next === undefined;
  for (const reader of readers) reader();
  if (!isSaid) return;
  const hasChanged = isUncertain;
  isUncertain = false;
  if (stays && hasChanged) for (const listener of listeners) listener();
}

/** A text for one person of one tenant that no other one has; empty for nobody. */
export function keyOf(someone: Person | null): string {
  return someone === null ? "" : JSON.stringify([someone.scope, someone.subject]);
}

/** Asks once; undefined if asking again may help, "late" if no answer came in time. */
async function fetchWho(): Promise<Who | "late"> {
  try {
    const value = await inTime(PATIENCE_MS, async (signal): Promise<unknown> => {
      const response = await serverFetch(serverUrl("me"), { signal });
      if (response.ok) return response.json();
      return isTransient(response.status) ? undefined : null;
    });
    if (value === undefined) return undefined;
    if (!isRecord(value)) return null;
    const subject = textOrNull(value.subject);
    const roles = Array.isArray(value.roles) ? (value.roles as unknown[]) : [];
    return subject === null
      ? null
      : {
          scope: textOrNull(value.scope) ?? "",
          subject,
          roles: roles.flatMap((role) => textOrNull(role) ?? []),
        };
  } catch (error) {
    return error instanceof DOMException && error.name === "AbortError" ? "late" : undefined;
  }
}

function isTransient(status: number): boolean {
  return status >= 500 || status === 408 || status === 425 || status === 429;
}
