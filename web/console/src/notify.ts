import { plainText } from "@sayso/react/components";
import { useSyncExternalStore } from "react";

/** Notifications of new questions in this browser: impossible, as wished, or never (it denied it). */
export type Notifying = "absent" | "off" | "on" | "denied";

const KEY = "sayso-notify";
const listeners = new Set<() => void>();
let wanted: boolean | null = null;

/** How it stands, and the means to change it; only turning it on asks the browser for leave. */
export function useNotifying(): readonly [Notifying, (on: boolean) => void] {
  return [useSyncExternalStore(subscribe, standing), choose];
}

/** Tells of a question while nobody looks at the page; a click leads there. */
export function notify(id: string, title: string, body: string, onClick: () => void): void {
  if (standing() !== "on" || document.visibilityState !== "hidden") return;
  try {
    // The same question is told of once, however many tabs are open.
    const shown = new Notification(plainText(title), { body: plainText(body), tag: `sayso:${id}` });
    shown.onclick = () => {
      window.focus();
      shown.close();
      onClick();
    };
  } catch {
    // Some phones know the permission and not the notification: the title counts all the same.
  }
}

function standing(): Notifying {
  if (!("Notification" in window)) return "absent";
  if (Notification.permission === "denied") return "denied";
  return read() && Notification.permission === "granted" ? "on" : "off";
}

function choose(on: boolean): void {
  wanted = on;
  try {
    localStorage.setItem(KEY, on ? "on" : "off");
  } catch {
    // Without storage the choice holds until the page is left.
  }
  if (on && Notification.permission === "default") void Notification.requestPermission().then(tell);
  tell();
}

function read(): boolean {
  if (wanted !== null) return wanted;
  try {
    return localStorage.getItem(KEY) === "on";
  } catch {
    return false;
  }
}

function tell(): void {
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
}
