import { useEffect, useRef, type RefObject } from "react";
import { press, stepTo, type Act } from "./keyboardNavigation.js";

/** A step to the question after this one, or before it. */
type Step = 1 | -1;

/**
 * Going through a list by keys. The address follows the keys a moment later, so what is pressed
 * after a step waits, in its order, until the question of that step is on the screen: it must
 * never meet the one before.
 */
export function useListNavigation(options: {
  readonly ids: readonly string[];
  readonly currentId: string | null;
  readonly page: RefObject<HTMLElement | null>;
  readonly go: (id: string) => void;
}): {
  readonly step: (by: Step) => void;
  readonly act: (act: Act) => void;
  readonly reset: () => void;
} {
  const { ids, currentId, page, go } = options;
  const place = useRef(0);
  const ahead = useRef<string | null>(null);
  const waiting = useRef<(Act | Step)[]>([]);
  const index = currentId === null ? -1 : ids.indexOf(currentId);
  useEffect(() => {
    if (index >= 0) place.current = index;
  }, [index]);

  /** False when nothing is in that direction. */
  const move = (by: Step): boolean => {
    const now = ahead.current ?? currentId;
    const next = stepTo(ids, now === null ? -1 : ids.indexOf(now), place.current, by);
    if (next === null || next === now) return false;
    ahead.current = next;
    go(next);
    return true;
  };

  useEffect(() => {
    if (ahead.current === null || ahead.current !== currentId) return;
    ahead.current = null;
    page.current?.querySelector<HTMLElement>('.row-link[aria-current="true"]')?.focus();
    let key = waiting.current.shift();
    for (; typeof key === "string"; key = waiting.current.shift()) press(page.current, key);
    // What follows a step that leads nowhere was meant for another question.
    if (key !== undefined && !move(key)) waiting.current = [];
  });

  return {
    step: (by) => {
      if (waiting.current.length === 0) move(by);
      else waiting.current.push(by);
    },
    act: (act) => {
      if (ahead.current === null) press(page.current, act);
      else waiting.current.push(act);
    },
    reset: () => {
      ahead.current = null;
      waiting.current = [];
    },
  };
}
