"use client";

import { useEffect, useSyncExternalStore } from "react";
import type { Inbox, InboxState } from "../core/index.js";

/** An inbox's present state; the inbox is followed live while the component is mounted. */
export function useInbox(inbox: Inbox): InboxState {
  useEffect(() => inbox.open(), [inbox]);
  const { subscribe, getSnapshot } = inbox;
  return useSyncExternalStore(subscribe, getSnapshot, getSnapshot);
}
