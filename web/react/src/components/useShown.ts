import { useEffect, useRef, type RefObject } from "react";

/**
 * Calls back when the end of something has been on the screen, while `complete`: nothing of it was
 * folded away. Where a page cannot tell (no IntersectionObserver), being rendered has to do.
 */
export function useShown(
  complete: boolean,
  onShown: (() => void) | undefined,
): RefObject<HTMLSpanElement | null> {
  const end = useRef<HTMLSpanElement>(null);
  const tell = useRef(onShown);
  useEffect(() => {
    tell.current = onShown;
  });
  const wanted = complete && onShown !== undefined;
  useEffect(() => {
    const node = end.current;
    if (!wanted || node === null) return undefined;
    if (typeof IntersectionObserver === "undefined") {
      tell.current?.();
      return undefined;
    }
    const observer = new IntersectionObserver((entries) => {
      if (!entries.some((one) => one.isIntersecting)) return;
      observer.disconnect();
      tell.current?.();
    });
    observer.observe(node);
    return () => {
      observer.disconnect();
    };
  }, [wanted]);
  return end;
}
