import { isRecord, recordsOf, request, textOrNull } from "./rest.js";

/** An agent as the server lists it. */
export interface AgentSummary {
  readonly name: string;
  readonly description: string | null;
}

/** Something the demo really did, in the order in which it did it. */
export interface Effect {
  readonly kind: string;
  readonly args: unknown;
  readonly threadId: string;
  readonly at: string;
}

/** The agents the server has. Rejects with a text for people when it cannot be asked. */
export async function fetchAgents(signal?: AbortSignal): Promise<readonly AgentSummary[]> {
  const body = await request("agents", withSignal(signal));
  if (!isRecord(body) || !Array.isArray(body.items)) {
    throw new Error("The server's list of agents cannot be read.");
  }
  return recordsOf(body.items).map((item) => ({
    name: String(item.name),
    description: textOrNull(item.description),
  }));
}

/** The demo's effects so far, as it tells them at this path. */
export async function fetchEffects(path: string, signal: AbortSignal): Promise<readonly Effect[]> {
  const body = await request(path, { signal });
  return recordsOf(isRecord(body) ? body.effects : undefined).map((item) => ({
    kind: String(item.kind),
    args: item.args,
    threadId: String(item.threadId),
    at: String(item.at),
  }));
}

/** An agent's capabilities, as the protocol declares them. */
export async function fetchCapabilities(agent: string, signal?: AbortSignal): Promise<unknown> {
  return request(`agents/${encodeURIComponent(agent)}/capabilities`, withSignal(signal));
}

function withSignal(signal: AbortSignal | undefined): { readonly signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}
