import { Conversation, SaysoAgent, controllerOf } from "@sayso/react";
import { validateAnswer } from "@sayso/react/validate";
import { serverFetch } from "../access.js";
import { serverUrl } from "../base.js";

/** The conversation of one thread with one agent of this server. One agent object per thread (CL-16). */
export function openSession(agentId: string, threadId: string): Conversation {
  const agent = new SaysoAgent({
    url: serverUrl(`agents/${encodeURIComponent(agentId)}`),
    agentId,
    threadId,
    fetch: serverFetch,
  });
  return new Conversation(controllerOf(agent, { validate: validateAnswer }));
}
