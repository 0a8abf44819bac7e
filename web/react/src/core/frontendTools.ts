import type { AbstractAgent, Message, RunAgentParameters } from "@ag-ui/client";
import { equalJson, writeJson } from "./json.js";
import type { Origin } from "./machine.js";
import type { RunDriver } from "./runs.js";
import type { JsonSchema } from "./shape.js";
import { readCall } from "./views.js";

/** A tool that the agent may call and a person answers in this client. */
export interface FrontendTool {
  readonly name: string;
  /** Its purpose; the model reads it. */
  readonly description?: string;
  /** JSON Schema of its arguments. */
  readonly parameters?: JsonSchema;
}

/**
 * One call of such a tool. `inProgress`: its arguments are still coming; `executing`: it waits for
 * its person; `complete`: it has its result.
 */
export interface FrontendCall {
  readonly id: string;
  readonly name: string;
  /** The parsed arguments; undefined while they are no whole JSON. */
  readonly args: unknown;
  readonly status: "inProgress" | "executing" | "complete";
  readonly result: string | null;
}

type Tools = NonNullable<RunAgentParameters["tools"]>;

/**
 * The front-end tools of one agent: what is offered with every run, and the calls of it since the
 * last thing the person said. A call without a result waits for one (TC-14); what came before the
 * person's last message is over, the agent was told that it went unanswered.
 */
export class FrontendTools {
  readonly #agent: AbstractAgent;
  readonly #runs: RunDriver;
  readonly #tools = new Map<object, FrontendTool>();
  readonly #listeners = new Set<() => void>();
  readonly #blocked: () => boolean;
  #calls: readonly FrontendCall[] = [];

  /** `blocked` says whether questions are open, so that results go out with their answers. */
  constructor(agent: AbstractAgent, runs: RunDriver, blocked: () => boolean) {
    this.#agent = agent;
    this.#runs = runs;
    this.#blocked = blocked;
  }

  /** Offers a tool with every run from now on; the returned function takes it back. */
  offer(tool: FrontendTool): () => void {
    const key = {};
    this.#tools.set(key, tool);
    this.#tell();
    return () => {
      this.#tools.delete(key);
      this.#tell();
    };
  }

  /** The tools sent with a run: each name once, the one offered last. */
  list(): Tools {
    const named = new Map([...this.#tools.values()].map((tool) => [tool.name, tool]));
    return [...named.values()].map(({ name, description = "", parameters = EMPTY }) => ({
      name,
      description,
      parameters,
    }));
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    const subscription = this.#agent.subscribe({ onMessagesChanged: listener });
    const stop = this.#runs.listen({ onOutcome: listener, onEnd: listener });
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
      subscription.unsubscribe();
      stop();
    };
  };

  /** The calls of offered tools; the same list until something changes. */
  readonly getSnapshot = (): readonly FrontendCall[] => {
    const names = new Set([...this.#tools.values()].map((tool) => tool.name));
    const calls = callsOf(this.#agent.messages, names, this.#runs.concluded);
    if (!equalJson(calls, this.#calls)) this.#calls = calls;
    return this.#calls;
  };

  /**
   * Gives a call its result. The run goes on once each call has one and no question is open; until
   * then it is kept, and goes out with the rest (OU-14). Where it did not arrive the call waits
   * again, and the same can be said once more. Resolves with whether the agent went on with it.
   */
  async respond(toolCallId: string, result: unknown): Promise<boolean> {
    const waiting = () =>
      this.getSnapshot().filter((frontendCall) => frontendCall.status === "executing");
    if (!waiting().some((frontendCall) => frontendCall.id === toolCallId)) return false;
    const content = typeof result === "string" ? result : writeJson(result ?? null);
    // The same id when it is said again: a server that did get it takes no second one.
    const id = `result:${toolCallId}`;
    this.#agent.addMessage({ id, role: "tool", toolCallId, content });
    this.#tell();
    if (waiting().length > 0 || this.#blocked()) return false;
    const heard: Origin[] = [];
    const hear = (origin: Origin) => {
      heard.push(origin);
    };
    const stop = this.#runs.listen({ onProgress: hear, onOutcome: hear });
    const end = await this.#runs.start("run");
    stop();
    const arrived = heard.length > 0;
    if (end.kind === "failure" && !arrived) {
      this.#agent.setMessages(this.#agent.messages.filter((message) => message.id !== id));
      this.#tell();
    }
    return arrived;
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** The calls of these tools since the last user message, in order. */
export function callsOf(
  messages: readonly Message[],
  names: ReadonlySet<string>,
  concluded: boolean,
): readonly FrontendCall[] {
  if (names.size === 0) return [];
  const since = messages.slice(messages.map((message) => message.role).lastIndexOf("user") + 1);
  const results = new Map(
    since.flatMap((message) =>
      message.role === "tool" ? [[message.toolCallId, textOf(message)] as const] : [],
    ),
  );
  return since.flatMap((message) =>
    (message.role === "assistant" ? (message.toolCalls ?? []) : [])
      .filter((call) => names.has(call.function.name))
      .map((call) => {
        const { id, name, args } = readCall(call);
        const result = results.get(id) ?? null;
        const waits = concluded ? "executing" : "inProgress";
        return { id, name, args, status: result === null ? waits : "complete", result };
      }),
  );
}

function textOf(message: Message): string {
  return typeof message.content === "string" ? message.content : JSON.stringify(message.content);
}

const EMPTY: JsonSchema = { type: "object", properties: {} };
