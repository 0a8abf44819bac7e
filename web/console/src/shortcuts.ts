import { useEffect, useRef } from "react";
import { switchOf, useSwitch } from "./switches.js";

const SHORTCUTS = switchOf("sayso-shortcuts");

/** Switch for single-key shortcuts (WCAG 2.1.4). */
export function useShortcutsOn(): readonly [boolean, (on: boolean) => void] {
  return useSwitch(SHORTCUTS);
}

/** Acts by key; a key is named as `KeyboardEvent.key` has it. */
export type Shortcuts = Readonly<Record<string, () => void>>;

/** Single keys for a whole view, while nothing is being written and no dialog is open. */
export function useShortcuts(shortcuts: Shortcuts): void {
  const [on] = useShortcutsOn();
  const latest = useRef(shortcuts);
  useEffect(() => {
    latest.current = shortcuts;
  });
  useEffect(() => {
    if (!on) return undefined;
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      // A key that is held down walks through a list, and decides nothing.
      if (event.repeat && !/^[jk]$/.test(event.key)) return;
      if (isWriting(event.target) || document.querySelector("dialog[open]") !== null) return;
      const act = Object.hasOwn(latest.current, event.key) ? latest.current[event.key] : undefined;
      if (act === undefined) return;
      event.preventDefault();
      act();
    };
    document.addEventListener("keydown", press);
    return () => {
      document.removeEventListener("keydown", press);
    };
  }, [on]);
}

function isWriting(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target.matches("textarea, select")) return true;
  return target instanceof HTMLInputElement && !/^(checkbox|radio|button)$/.test(target.type);
}
