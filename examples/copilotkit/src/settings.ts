// Where the Sayso server is. A page of your own has constants here; this one reads them from its
// address, so that every way to reach a server can be tried:
//   ?runtime=http://localhost:8000/copilotkit   the server's CopilotKit mount
//   &transport=rest|single                      one of its two transports; else CopilotKit picks
//   ?agent=http://localhost:8000/agents/ops     or no mount at all: an agent of its own
//   &wildcard                                   with a front-end tool that takes any call

export interface Settings {
  runtimeUrl: string;
  useSingleEndpoint: boolean | undefined;
  agentUrl: string | undefined;
  wildcard: boolean;
}

const query = new URLSearchParams(location.search);
const transport = query.get("transport");

export const settings: Settings = {
  runtimeUrl: query.get("runtime") ?? "/copilotkit",
  useSingleEndpoint: transport === null ? undefined : transport === "single",
  agentUrl: query.get("agent") ?? undefined,
  wildcard: query.has("wildcard"),
};

export const AGENT = "ops";

// The thread is in the address, so that a reload, a bookmark and a second tab are on the same one.
export const threadOf = (address: Location): string => address.hash.slice(1);

export function openThread(id: string = crypto.randomUUID()): void {
  location.hash = id;
}
