import { serverFetch } from "./access.js";
import { serverUrl } from "./base.js";

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
  const body = await getJson("agents", signal);
  const items: unknown = isRecord(body) ? body.items : undefined;
  if (!Array.isArray(items)) throw new Error("The server's list of agents cannot be read.");
  return (items as unknown[]).filter(isRecord).map((item) => ({
    name: String(item.name),
    description: typeof item.description === "string" ? item.description : null,
  }));
}

/** What the demo did so far; null when this server is not the demo. */
export async function fetchEffects(signal?: AbortSignal): Promise<readonly Effect[] | null> {
  const response = await serverFetch(serverUrl("demo/effects"), init(signal));
  if (response.status === 404) return null;
  if (!response.ok) throw new Error(`The effects could not be read (HTTP ${response.status}).`);
  const body: unknown = await response.json();
  const effects: unknown = isRecord(body) ? body.effects : undefined;
  return (Array.isArray(effects) ? (effects as unknown[]) : []).filter(isRecord).map((item) => ({
    kind: String(item.kind),
    args: item.args,
    threadId: String(item.threadId),
    at: String(item.at),
  }));
}

async function getJson(path: string, signal?: AbortSignal): Promise<unknown> {
  let response: Response;
  try {
    response = await serverFetch(serverUrl(path), init(signal));
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new Error("The server cannot be reached.", { cause: error });
  }
  if (response.status === 401) throw new Error("The server asks who you are: see Settings.");
  if (!response.ok) throw new Error(`The server answered with HTTP ${response.status}.`);
  return response.json();
}

function init(signal?: AbortSignal): RequestInit {
  const headers = { accept: "application/json" };
  return signal === undefined ? { headers } : { headers, signal };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
