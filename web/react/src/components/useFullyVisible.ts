"use client";

import { useEffect, useRef, type RefObject } from "react";

/**
 * Tells whether the end of something is on the screen, until it has been there while `complete`:
 * nothing of it was folded away. Another `round` begins anew. Where a page cannot tell (no
 * IntersectionObserver), being rendered has to do.
 */
export function useFullyVisible(
  complete: boolean,
  round: number,
  tell: (shown: boolean) => void,
): RefObject<HTMLSpanElement | null> {
  const end = useRef<HTMLSpanElement>(null);
  const latest = useRef(tell);
  useEffect(() => {
    latest.current = tell;
  });
  useEffect(() => {
    const node = end.current;
    if (!complete || node === null) return undefined;
    if (typeof IntersectionObserver === "undefined") {
      latest.current(true);
      return undefined;
    }
    const observer = new IntersectionObserver((entries) => {
      const shown = entries.some((entry) => entry.isIntersecting);
      if (shown) observer.disconnect();
      latest.current(shown);
    });
    observer.observe(node);
    return () => {
      observer.disconnect();
    };
  }, [complete, round]);
  return end;
}
