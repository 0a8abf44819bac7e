import { useSyncExternalStore } from "react";
import { said } from "./base.js";

// Kept for this tab: a reload still has it, another tab and the next visit do not.
const KEY = "sayso-token";
let token = kept();
const listeners = new Set<() => void>();

/** Sets the token that every request carries; an empty one takes it away. */
export function setToken(next: string): void {
  token = next.trim();
  keep(token);
  accessChanged();
}

/** Has it asked again who is there: the server may know somebody else now, or nobody. */
export function accessChanged(): void {
  for (const listener of listeners) listener();
}

/** Calls back whenever somebody else may be there, or nobody; returns the way out. */
export function onAccessChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
}

/** The present token, empty when there is none. */
export function useToken(): string {
  return useSyncExternalStore(onAccessChange, () => token);
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

// Whether the server knew whose session it is when it answered last. The end of one is all views'
// to know; who has a token is asked for another where the old one failed.
let known = false;

/** `fetch` with the token, if there is one, as `Authorization: Bearer`. */
export const serverFetch: typeof fetch = async (input, init) => {
  const response = await (token === "" ? fetch(input, init) : fetch(input, signed(init)));
  const ended = known && response.status === 401 && said(document, "sign-in") !== null;
  known = response.ok || (known && !ended);
  if (ended) accessChanged();
  return response;
};

function signed(init: RequestInit | undefined): RequestInit {
  const headers = new Headers(init?.headers);
  headers.set("authorization", `Bearer ${token}`);
  return { ...init, headers };
}
