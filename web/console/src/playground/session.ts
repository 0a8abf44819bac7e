import { Conversation, SaysoAgent, InterruptController, type Drafts } from "@sayso/react";
import { fetchOutcome, hold, takeBack, validateAnswer } from "@sayso/react/core";
import { serverFetch } from "../access.js";
import { serverUrl } from "../base.js";

const server = () => ({ url: serverUrl(""), fetch: serverFetch });

/**
 * The conversation of one thread with one agent of this server. One agent object per thread (CL-16).
 * `drafts` keeps answers that are not sent yet, null: none.
 */
export function openSession(
  agentId: string,
  threadId: string,
  drafts: Drafts | null,
): Conversation {
  const agent = new SaysoAgent({
    url: serverUrl(`agents/${encodeURIComponent(agentId)}`),
    agentId,
    threadId,
    fetch: serverFetch,
  });
  const controller = new InterruptController(agent, {
    validate: validateAnswer,
    ...(drafts !== null && { drafts }),
    fetchOutcome: (interruptId) => fetchOutcome(server(), interruptId),
    takeBack: (interruptId) => takeBack(server(), interruptId),
    hold: (answers) => hold(server(), answers),
  });
  return new Conversation(controller);
}
