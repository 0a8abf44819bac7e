import type { Conversation } from "@sayso/react";
import { useEffect, useRef } from "react";
import { useSharedInbox } from "../inbox/InboxProvider.js";

/** Looks at the thread at once when the inbox hears that a question of it was settled elsewhere. */
export function useRefreshOnSettled(session: Conversation, threadId: string): void {
  const { state } = useSharedInbox();
  const open = state.items
    .filter((item) => item.threadId === threadId)
    .map(({ interrupt }) => interrupt.id);
  const before = useRef<readonly string[]>([]);
  useEffect(() => {
    const { interrupts } = session.controller.getSnapshot();
    const gone = before.current.filter((id) => !open.includes(id));
    before.current = open;
    if (interrupts.some((interrupt) => gone.includes(interrupt.id))) session.refresh();
  }, [session, open]);
}
