import { useSyncExternalStore } from "react";

// The token lives in this variable and nowhere else: a reload forgets it.
let token = "";
const listeners = new Set<() => void>();

/** Sets the token that every request carries; an empty one takes it away. */
export function setToken(next: string): void {
  token = next.trim();
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

/** `fetch` with the token, if there is one, as `Authorization: Bearer`. */
export const serverFetch: typeof fetch = (input, init) => {
  if (token === "") return fetch(input, init);
  const headers = new Headers(init?.headers);
  headers.set("authorization", `Bearer ${token}`);
  return fetch(input, { ...init, headers });
};
