import { useSyncExternalStore } from "react";

/** A setting that is on or off, and kept by this browser. */
export interface Switch {
  readonly isOn: () => boolean;
  readonly set: (on: boolean) => void;
  readonly subscribe: (listener: () => void) => () => void;
}

/** A switch under this name in the browser's storage; it is on unless somebody has turned it off. */
export function switchOf(name: string): Switch {
  const listeners = new Set<() => void>();
  let chosen: boolean | null = null;
  return {
    isOn: () => {
      if (chosen !== null) return chosen;
      try {
        return localStorage.getItem(name) !== "off";
      } catch {
        return true;
      }
    },
    set: (on) => {
      chosen = on;
      try {
        localStorage.setItem(name, on ? "on" : "off");
      } catch {
        // Without storage the choice holds until the page is left.
      }
      for (const listener of listeners) listener();
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
  };
}

/** How a switch stands, and what sets it. */
export function useSwitch(one: Switch): readonly [boolean, (on: boolean) => void] {
  return [useSyncExternalStore(one.subscribe, one.isOn), one.set];
}
