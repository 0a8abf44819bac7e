"use client";

import { useMemo } from "react";
import {
  conversationOf,
  type Conversation,
  type ConversationState,
  type MachineState,
} from "../core/index.js";
import { useController } from "./context.js";
import { useConversation } from "./useConversation.js";
import { useInterrupts } from "./useInterrupts.js";

/** One agent's thread: what was said and done, how it stands, and the means to go on. */
export interface Thread
  extends ConversationState, Pick<MachineState, "threadId" | "status" | "failure" | "closed"> {
  /** How many questions are open; no message is sent until they are answered. */
  readonly open: number;
  readonly send: Conversation["send"];
  readonly resend: Conversation["resend"];
  readonly discardUnsent: Conversation["discardUnsent"];
  readonly removeQueued: Conversation["removeQueued"];
  readonly cancelAndSend: Conversation["cancelAndSend"];
  /** Asks the server how things stand. */
  readonly refresh: Conversation["refresh"];
}

/** The thread of an agent, restored and followed while the component is mounted. */
export function useThread(options: { readonly agentId?: string } = {}): Thread {
  const controller = useController(options.agentId);
  const conversation = conversationOf(controller);
  const state = useConversation(conversation);
  const { interrupts, status, failure, closed } = useInterrupts(options);
  const acts = useMemo(
    () => ({
      send: conversation.send.bind(conversation),
      resend: conversation.resend.bind(conversation),
      discardUnsent: conversation.discardUnsent.bind(conversation),
      removeQueued: conversation.removeQueued.bind(conversation),
      cancelAndSend: conversation.cancelAndSend.bind(conversation),
      refresh: conversation.refresh.bind(conversation),
    }),
    [conversation],
  );
  const { threadId } = controller.getSnapshot();
  const open = interrupts.length;
  return { ...state, ...acts, threadId, status, failure, closed, open };
}
