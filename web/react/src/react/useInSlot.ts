"use client";

import { useEffect, useId, type ReactElement } from "react";
import { useSayso } from "./context.js";

/** The element when it is placed by hand, nothing when it goes into the chat. */
export type Placed<TInChat extends boolean | undefined> = TInChat extends false
  ? ReactElement | null
  : undefined;

/** Puts an element into the chat, or hands it back to be placed by hand. */
export function useInSlot<TInChat extends boolean | undefined>(
  element: ReactElement | null,
  renderInChat: TInChat | undefined,
): Placed<TInChat> {
  const { slot } = useSayso();
  const key = useId();
  const inChat = renderInChat !== false;
  useEffect(() => {
    if (inChat) slot.put(key, element);
  });
  useEffect(() => {
    return () => {
      slot.put(key, null);
    };
  }, [slot, key, inChat]);
  return (inChat ? undefined : element) as Placed<TInChat>;
}
