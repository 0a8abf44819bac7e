import { isRecord, recordsOf, request, ServerError, textOrNull } from "./rest.js";

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

/** What the demo did so far; null when this server is not the demo. */
export async function fetchEffects(signal?: AbortSignal): Promise<readonly Effect[] | null> {
  let body: unknown;
  try {
    body = await request("demo/effects", withSignal(signal));
  } catch (error) {
    if (error instanceof ServerError && error.status === 404) return null;
    throw error;
  }
  return recordsOf(isRecord(body) ? body.effects : undefined).map((item) => ({
    kind: String(item.kind),
    args: item.args,
    threadId: String(item.threadId),
    at: String(item.at),
  }));
}

/** What an agent can do, as the protocol declares it. */
export async function fetchCapabilities(agent: string, signal?: AbortSignal): Promise<unknown> {
  return request(`agents/${encodeURIComponent(agent)}/capabilities`, withSignal(signal));
}

function withSignal(signal: AbortSignal | undefined): { readonly signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}
