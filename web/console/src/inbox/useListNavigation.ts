import { useEffect, useRef, type RefObject } from "react";
import { press, stepTo, type Act } from "./keyboardNavigation.js";

/**
 * Going through a list by keys. The address follows the keys a moment later, so what is pressed
 * after a step waits until its question is on the screen: it must never meet the one before.
 */
export function useListNavigation(options: {
  readonly ids: readonly string[];
  readonly currentId: string | null;
  readonly page: RefObject<HTMLElement | null>;
  readonly go: (id: string) => void;
}): {
  readonly step: (by: 1 | -1) => void;
  readonly act: (act: Act) => void;
  readonly reset: () => void;
} {
  const { ids, currentId, page, go } = options;
  const place = useRef(0);
  const ahead = useRef<string | null>(null);
  const waiting = useRef<Act | null>(null);
  const index = currentId === null ? -1 : ids.indexOf(currentId);
  useEffect(() => {
    if (index >= 0) place.current = index;
  }, [index]);
  useEffect(() => {
    if (ahead.current === null || ahead.current !== currentId) return;
    ahead.current = null;
    page.current?.querySelector<HTMLElement>('.row-link[aria-current="true"]')?.focus();
    if (waiting.current !== null) press(page.current, waiting.current);
    waiting.current = null;
  }, [currentId, page]);

  return {
    step: (by) => {
      if (waiting.current !== null) return;
      const now = ahead.current ?? currentId;
      const next = stepTo(ids, now === null ? -1 : ids.indexOf(now), place.current, by);
      if (next === null || next === now) return;
      ahead.current = next;
      go(next);
    },
    act: (act) => {
      if (ahead.current === null) press(page.current, act);
      else waiting.current = act;
    },
    reset: () => {
      ahead.current = null;
      waiting.current = null;
    },
  };
}
