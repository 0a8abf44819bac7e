import type { Interrupt, RunAgentInput } from "@ag-ui/client";
import { parseJson, SaysoAgent, writeJson } from "../src/core/index.js";

/** One event as a server would send it. */
export type WireEvent = Readonly<Record<string, unknown>> & { readonly type: string };

/** What the scripted server got: the path and the parsed body. */
export interface Received {
  readonly path: string;
  readonly body: RunAgentInput;
  readonly signal: AbortSignal | undefined;
}

/** Answers one request; may hold the body open by awaiting inside the generator. */
export type Reply = (received: Received) => Response | Promise<Response>;

/** A fetch that answers requests one after another by a script, and remembers what it was sent. */
export class ScriptedServer {
  readonly received: Received[] = [];
  readonly #replies: Reply[] = [];
  readonly #connects: Reply[] = [];
  #lastConnectUsed = false;

  /** The next run is answered like this. */
  onRun(...replies: Reply[]): this {
    this.#replies.push(...replies);
    return this;
  }

  /** The next look at the thread is answered like this; the last one stays until there is another. */
  onConnect(...replies: Reply[]): this {
    if (this.#lastConnectUsed) this.#connects.length = 0;
    this.#lastConnectUsed = false;
    this.#connects.push(...replies);
    return this;
  }

  readonly fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const received: Received = {
      path: new URL(url).pathname,
      body: parseJson(init.body as string) as RunAgentInput,
      signal: init.signal ?? undefined,
    };
    this.received.push(received);
    const connect = received.path.endsWith("/connect");
    const queue = connect ? this.#connects : this.#replies;
    const stays = connect && queue.length === 1;
    if (stays) this.#lastConnectUsed = true;
    const reply = stays ? queue[0] : queue.shift();
    if (reply === undefined) throw new Error(`No reply is scripted for ${received.path}.`);
    return reply(received);
  };

  /** Runs that were posted, without looks. */
  get runs(): Received[] {
    return this.received.filter((received) => !received.path.endsWith("/connect"));
  }

  agent(threadId = "thread-1"): SaysoAgent {
    return new SaysoAgent({
      url: "http://sayso.test/agents/ops",
      agentId: "ops",
      threadId,
      fetch: this.fetch,
    });
  }
}

/** A run's events between its start and its end, with the ids of the request. */
export function run(...events: WireEvent[]): Reply {
  return ({ body }) => {
    const ids = { threadId: body.threadId, runId: body.runId };
    return sse([
      { type: "RUN_STARTED", ...ids },
      ...events.map((wireEvent) => ending(wireEvent, ids)),
    ]);
  };
}

/** The same, with a body that stays open until `release` resolves and then goes on. */
export function heldRun(
  before: WireEvent[],
  release: Promise<unknown>,
  after: WireEvent[] = [],
): Reply {
  return ({ body, signal }) => {
    const ids = { threadId: body.threadId, runId: body.runId };
    const stream = new ReadableStream<Uint8Array>({
      async start(controller) {
        signal?.addEventListener("abort", () => {
          controller.error(new DOMException("aborted", "AbortError"));
        });
        const send = (list: WireEvent[]) => {
          if (signal?.aborted !== true) controller.enqueue(encode(list.map((e) => ending(e, ids))));
        };
        send([{ type: "RUN_STARTED", ...ids }, ...before]);
        await release;
        if (signal?.aborted === true) return;
        if (after.length > 0) send(after);
        controller.close();
      },
    });
    return new Response(stream, { headers: { "content-type": "text/event-stream" } });
  };
}

export function sse(events: WireEvent[]): Response {
  return new Response(encode(events), { headers: { "content-type": "text/event-stream" } });
}

export const finished: WireEvent = { type: "RUN_FINISHED", outcome: { type: "success" } };
export const cancelled: WireEvent = { type: "RUN_FINISHED", outcome: { type: "cancelled" } };

export function interrupted(...interrupts: Interrupt[]): WireEvent {
  return { type: "RUN_FINISHED", outcome: { type: "interrupt", interrupts } };
}

export function runError(code: string, details: Record<string, unknown> = {}): WireEvent {
  return {
    type: "RUN_ERROR",
    code,
    message: `refused: ${code}`,
    metadata: { sayso: { code, ...details } },
  };
}

/** The end of a refused request: it says so itself, whatever its code. */
export function refusal(code: string, details: Record<string, unknown> = {}): WireEvent {
  return runError(code, { ...details, refused: true });
}

export function says(id: string, text: string): WireEvent[] {
  return [
    { type: "TEXT_MESSAGE_START", messageId: id, role: "assistant" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: id, delta: text },
    { type: "TEXT_MESSAGE_END", messageId: id },
  ];
}

export function calls(id: string, name: string, args: unknown): WireEvent[] {
  return [
    { type: "TOOL_CALL_START", toolCallId: id, toolCallName: name },
    { type: "TOOL_CALL_ARGS", toolCallId: id, delta: JSON.stringify(args) },
    { type: "TOOL_CALL_END", toolCallId: id },
  ];
}

export function approval(id: string, more: Partial<Interrupt> = {}): Interrupt {
  return {
    id,
    reason: "tool_call",
    toolCallId: `call-${id}`,
    message: `May I run ${id}?`,
    responseSchema: {
      type: "object",
      properties: { approved: { type: "boolean" }, reason: { type: "string" } },
      required: ["approved"],
      additionalProperties: false,
    },
    ...more,
  };
}

export const snapshot = (messages: unknown[] = []): WireEvent[] => [
  { type: "STATE_SNAPSHOT", snapshot: {} },
  { type: "MESSAGES_SNAPSHOT", messages },
];

/** A promise and the means to settle it. */
export function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

function ending(event: WireEvent, ids: { threadId: string; runId: string }): WireEvent {
  return event.type === "RUN_FINISHED" ? { ...event, ...ids } : event;
}

function encode(events: WireEvent[]): Uint8Array<ArrayBuffer> {
  const text = events.map((event) => `data: ${writeJson(event)}\n\n`).join("");
  return new Uint8Array(new TextEncoder().encode(text));
}
