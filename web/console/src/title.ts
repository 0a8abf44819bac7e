import { plainText } from "@sayso/react/components";
import { useEffect } from "react";

/** Keeps the page's title at what the page waits for. */
export function useTitle(open: number, place: string): void {
  useEffect(() => {
    document.title = `${open > 0 ? `(${open}) ` : ""}${plainText(place)} · Sayso`;
    return () => {
      document.title = "Sayso";
    };
  }, [open, place]);
}
