import { useSyncExternalStore } from "react";

// Kept for this tab: a reload still has it, another tab and the next visit do not.
const KEY = "sayso-token";
let token = kept();
const listeners = new Set<() => void>();

/** Sets the token that every request carries; an empty one takes it away. */
export function setToken(next: string): void {
  token = next.trim();
  keep(token);
  for (const listener of listeners) listener();
}

/** Calls back whenever the token changes; returns the way out. */
export function onToken(listener: () => void): () => void {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
}

/** The present token, empty when there is none. */
export function useToken(): string {
  return useSyncExternalStore(onToken, () => token);
}

function kept(): string {
  try {
    return sessionStorage.getItem(KEY) ?? "";
  } catch {
    return ""; // a browser that keeps nothing for this page
  }
}

function keep(value: string): void {
  try {
    if (value === "") sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, value);
  } catch {
    // It is in use all the same, until the page is left.
  }
}

/** `fetch` with the token, if there is one, as `Authorization: Bearer`. */
export const serverFetch: typeof fetch = (input, init) => {
  if (token === "") return fetch(input, init);
  const headers = new Headers(init?.headers);
  headers.set("authorization", `Bearer ${token}`);
  return fetch(input, { ...init, headers });
};
