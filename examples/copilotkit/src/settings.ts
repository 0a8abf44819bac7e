// Where the Sayso server is. A page of your own has constants here; this one reads them from its
// address, so that every way to reach a server can be tried:
//   ?runtime=http://localhost:8000/copilotkit   the server's CopilotKit mount
//   &transport=rest|single                      one of its two transports; else CopilotKit picks
//   ?agent=http://localhost:8000/agents/ops     or no mount at all: an agent of its own
//   &wildcard                                   with a front-end tool that takes any call
//   &suggestions                                asks the agent what the user could say next
//   &plain                                      without this page's own care, as first pages are:
//                                               no new provider after a failure
//   &unkeyed                                    cards without a key: they begin anew where the page
//                                               has drawn that their question is gone

import { useSyncExternalStore } from "react";

export interface Settings {
  runtimeUrl: string;
  useSingleEndpoint: boolean | undefined;
  agentUrl: string | undefined;
  wildcard: boolean;
  suggestions: boolean;
  plain: boolean;
  unkeyed: boolean;
}

const query = new URLSearchParams(location.search);
const transport = query.get("transport");

export const settings: Settings = {
  runtimeUrl: query.get("runtime") ?? "/copilotkit",
  useSingleEndpoint: transport === null ? undefined : transport === "single",
  agentUrl: query.get("agent") ?? undefined,
  wildcard: query.has("wildcard"),
  suggestions: query.has("suggestions"),
  plain: query.has("plain"),
  unkeyed: query.has("unkeyed"),
};

export const AGENT = "ops";

// The thread is in the address, so that a reload, a bookmark and a second tab are on the same one.
export const threadOf = (address: Location): string => address.hash.slice(1);

export const useThread = (): string => useSyncExternalStore(onThread, () => threadOf(location));

function onThread(changed: () => void): () => void {
  window.addEventListener("hashchange", changed);
  return () => window.removeEventListener("hashchange", changed);
}

export function openThread(id: string = crypto.randomUUID()): void {
  location.hash = id;
}
