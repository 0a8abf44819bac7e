import { Conversation, SaysoAgent, controllerOf, sessionDrafts } from "@sayso/react";
import { lookUp } from "@sayso/react/inbox";
import { validateAnswer } from "@sayso/react/validate";
import { serverFetch } from "../access.js";
import { serverUrl } from "../base.js";

const server = () => ({ url: serverUrl(""), fetch: serverFetch });

/** The conversation of one thread with one agent of this server. One agent object per thread (CL-16). */
export function openSession(agentId: string, threadId: string): Conversation {
  const agent = new SaysoAgent({
    url: serverUrl(`agents/${encodeURIComponent(agentId)}`),
    agentId,
    threadId,
    fetch: serverFetch,
  });
  const controller = controllerOf(agent, {
    validate: validateAnswer,
    drafts: sessionDrafts(),
    lookUp: (interruptId) => lookUp(server(), interruptId),
  });
  return new Conversation(controller);
}
