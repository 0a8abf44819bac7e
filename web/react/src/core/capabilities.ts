import type { AbstractAgent, AgentCapabilities } from "@ag-ui/client";
import { asRecord } from "./json.js";

/** A kind of value, or the members that an object has if it has them; `*` marks those it must have. */
type Kind = "boolean" | "string" | "integer" | "object" | "any" | Members | readonly [Kind];
interface Members {
  readonly [name: string]: Kind;
}

const flags = (...names: readonly string[]): Members =>
  Object.fromEntries(names.map((name) => [name, "boolean"]));

/** `AgentCapabilities` of AG-UI 1.0 (CP-01). */
const DECLARATION: Members = {
  identity: {
    name: "string",
    type: "string",
    description: "string",
    version: "string",
    provider: "string",
    documentationUrl: "string",
    metadata: "object",
  },
  transport: flags("streaming", "websocket", "httpBinary", "pushNotifications", "resumable"),
  tools: {
    ...flags("supported", "parallelCalls", "clientProvided"),
    items: [{ "*name": "string", "*description": "string", parameters: "any", metadata: "object" }],
  },
  output: { ...flags("structuredOutput"), supportedMimeTypes: ["string"] },
  state: flags("snapshots", "deltas", "memory", "persistentState"),
  multiAgent: {
    ...flags("supported", "delegation", "handoffs"),
    subagents: [{ "*name": "string", description: "string" }],
  },
  reasoning: flags("supported", "streaming", "encrypted"),
  multimodal: {
    input: flags("image", "audio", "video", "pdf", "file"),
    output: flags("image", "audio"),
  },
  execution: {
    ...flags("codeExecution", "sandboxed"),
    maxIterations: "integer",
    maxExecutionTime: "integer",
  },
  humanInTheLoop: flags(
    "supported",
    "approvals",
    "interventions",
    "feedback",
    "interrupts",
    "approveWithEdits",
  ),
  custom: "object",
};

/**
 * A server's declaration, whole and as it was given, unknown members included; null for one that is
 * not valid, of which nothing is used (CP-07).
 */
export function readCapabilities(document: unknown): AgentCapabilities | null {
  return fits(document, DECLARATION) ? (document as AgentCapabilities) : null;
}

/**
 * Looks up one thing in a declaration, as `declared(found, "humanInTheLoop", "approvals")`.
 * Undefined where it is silent, which means neither yes nor no (CP-06).
 */
export function declared(
  capabilities: AgentCapabilities | null,
  ...path: readonly string[]
): unknown {
  let capability: unknown = capabilities;
  for (const name of path) {
    const record = asRecord(capability);
    capability = record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
  }
  return capability;
}

export interface CapabilitiesRequest {
  /** Default: the agent's own, else the global `fetch`. Credentials are put on here. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  readonly signal?: AbortSignal;
}

/**
 * The declaration of an agent, given as its object or as its address on a Sayso server, where
 * `<address>/capabilities` is asked (CP-03). Null when the server has none, or no valid one: that is
 * no reason not to run. Rejects when nobody can tell: no connection, or another HTTP status.
 */
export async function fetchCapabilities(
  agent: AbstractAgent | string,
  request: CapabilitiesRequest = {},
): Promise<AgentCapabilities | null> {
  const own = typeof agent === "string" ? undefined : agent;
  if (own?.getCapabilities !== undefined) return readCapabilities(await own.getCapabilities());
  const { url, headers, fetch: agents } = (own ?? { url: agent }) as HttpParts;
  if (url === undefined) return null;
  const ask = request.fetch ?? agents ?? ((address, init) => fetch(address, init));
  const response = await ask(capabilitiesUrl(url), {
    headers: { ...headers, accept: "application/json" },
    ...(request.signal !== undefined && { signal: request.signal }),
  });
  if (response.status === 404 || response.status === 405 || response.status === 501) return null;
  if (!response.ok) throw new Error(`The server answered with HTTP ${response.status}.`);
  try {
    return readCapabilities(JSON.parse(await response.text()));
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** Members of an agent that speaks HTTP; others have none of them. */
interface HttpParts {
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly fetch?: CapabilitiesRequest["fetch"];
}

function capabilitiesUrl(url: string): string {
  const [path = ""] = url.split("?", 1);
  return `${path.replace(/\/$/, "")}/capabilities`;
}

function fits(value: unknown, kind: Kind): boolean {
  if (kind === "any") return true;
  if (kind === "integer") return Number.isSafeInteger(value);
  if (kind === "object") return asRecord(value) !== undefined;
  if (typeof kind === "string") return typeof value === kind;
  if (isList(kind)) return Array.isArray(value) && value.every((item) => fits(item, kind[0]));
  const record = asRecord(value);
  if (record === undefined) return false;
  return Object.entries(kind).every(([marked, member]) => {
    const name = marked.replace("*", "");
    return Object.hasOwn(record, name) ? fits(record[name], member) : name === marked;
  });
}

function isList(kind: Members | readonly [Kind]): kind is readonly [Kind] {
  return Array.isArray(kind);
}
