"use client";

import { useEffect, useSyncExternalStore } from "react";
import type { Conversation, ConversationState } from "../core/index.js";

/** A conversation's present state; the conversation is live while the component is mounted. */
export function useConversation(conversation: Conversation): ConversationState {
  useEffect(() => conversation.open(), [conversation]);
  const { subscribe, getSnapshot } = conversation;
  return useSyncExternalStore(subscribe, getSnapshot, getSnapshot);
}
