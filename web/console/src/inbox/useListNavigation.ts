import { useEffect, useRef, type RefObject } from "react";
import { isBeingRead, press, stepTo, type Act } from "./keyboardNavigation.js";

/** A step to the question after this one, or before it. */
type Step = 1 | -1;

/**
 * Going through a list by keys. The address follows the keys a moment later, and a card knows a
 * moment later whether it was on the screen whole. So what is pressed waits, in its order, until
 * the question that it is meant for can take it: it must never meet the one before.
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
  const frame = useRef<number | null>(null);
  const latest = useRef<() => void>(null);
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

  const takeKeys = () => {
    while (ahead.current === null && waiting.current.length > 0) {
      if (isBeingRead(page.current)) {
        frame.current ??= requestAnimationFrame(() => {
          frame.current = null;
          latest.current?.();
        });
        return;
      }
      const key = waiting.current.shift();
      if (typeof key === "string") press(page.current, key);
      // What follows a step that leads nowhere was meant for another question.
      else if (key !== undefined && !move(key)) waiting.current = [];
    }
  };

  useEffect(() => {
    latest.current = takeKeys;
    if (ahead.current === null || ahead.current !== currentId) return;
    ahead.current = null;
    page.current?.querySelector<HTMLElement>('.row-link[aria-current="true"]')?.focus();
    takeKeys();
  });
  const reset = () => {
    ahead.current = null;
    waiting.current = [];
  };
  useEffect(
    () => () => {
      if (frame.current !== null) cancelAnimationFrame(frame.current);
    },
    [],
  );

  return {
    step: (by) => {
      if (waiting.current.length === 0) move(by);
      else waiting.current.push(by);
    },
    act: (act) => {
      waiting.current.push(act);
      takeKeys();
    },
    reset,
  };
}
