import { useEffect, useSyncExternalStore } from "react";
import type { Inbox } from "../core/inbox.js";
import type { InboxState } from "../core/inboxState.js";

/** An inbox's present state; the inbox is followed live while the component is mounted. */
export function useInbox(inbox: Inbox): InboxState {
  useEffect(() => inbox.open(), [inbox]);
  const { subscribe, getSnapshot } = inbox;
  return useSyncExternalStore(subscribe, getSnapshot, getSnapshot);
}
