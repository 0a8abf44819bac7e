type Json = Record<string, unknown>;

/** One open interrupt as the REST interface lists it. */
export function listed(id: string, more: Json = {}): Json {
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
    metadata: { sayso: { tool: "pay", arguments: { id } } },
    threadId: "t-1",
    agent: "ops",
    status: "open",
    createdAt: "2026-01-01T00:00:00Z",
    ...more,
  };
}

/** A problem (RFC 9457) as an answer. */
export function problem(status: number, code: string, more: Json = {}): Response {
  return Response.json({ status, code, detail: `refused: ${code}`, ...more }, { status });
}

/** An inbox behind `fetch`: what is open, what each answer comes to, and a stream one can feed. */
export class InboxServer {
  up = true;
  pageSize = 1000;
  items: Json[] = [];
  readonly settled = new Map<string, Json>();
  readonly posted: { path: string; method: string; body: unknown }[] = [];
  /** How many of those would have arrived also without their page. */
  outliving = 0;
  readonly replies: (() => Response | Promise<Response>)[] = [];
  readonly lists: number[] = [];
  /** After so many pages the next is refused: its user has made too many requests. */
  mostPages = Infinity;
  streamReply: (() => Response) | undefined;
  #feeds: ReadableStreamDefaultController<Uint8Array>[] = [];

  readonly fetch = (async (address: string | URL | Request, init: RequestInit = {}) => {
    await Promise.resolve();
    if (!this.up) throw new TypeError("Failed to fetch");
    const url = new URL(address instanceof Request ? address.url : address);
    const path = url.pathname;
    if (path.endsWith("/interrupts/stream"))
      return this.streamReply?.() ?? this.#stream(init.signal);
    if (init.method === "GET" && path.endsWith("/interrupts")) return this.#list(url);
    if (init.method === "GET") return this.#one(path.split("/").at(-1) ?? "");
    const body: unknown = typeof init.body === "string" ? JSON.parse(init.body) : undefined;
    this.posted.push({ path, method: init.method ?? "GET", body });
    if (init.keepalive === true) this.outliving += 1;
    const reply = this.replies.shift();
    if (reply === undefined) throw new Error(`No reply is scripted for ${path}.`);
    const late = new Promise<never>((_, reject) => {
      init.signal?.addEventListener("abort", () => {
        reject(new DOMException("aborted", "AbortError"));
      });
    });
    return Promise.race([reply(), late]);
  }) as typeof fetch;

  /** How many streams are being read. */
  get streams(): number {
    return this.#feeds.length;
  }

  /** Sends an event to everybody who follows; who does not yet would never hear of it. */
  tell(event: Json): void {
    if (this.#feeds.length === 0) throw new Error("Nobody listens yet: wait until streams is 1.");
    const frame = new TextEncoder().encode(`: alive\n\ndata: ${JSON.stringify(event)}\n\n`);
    for (const feed of this.#feeds) feed.enqueue(frame);
  }

  /** Breaks all streams, as a server does that dies. */
  cut(): void {
    for (const feed of this.#feeds) feed.error(new TypeError("network error"));
    this.#feeds = [];
  }

  #list(url: URL): Response {
    if (this.lists.length >= this.mostPages) return problem(429, "too_many", { retryAfter: 5 });
    const from = Number(url.searchParams.get("cursor") ?? 0);
    const items = this.items.slice(from, from + this.pageSize);
    this.lists.push(items.length);
    const next = from + this.pageSize;
    const more = next < this.items.length ? { nextCursor: String(next) } : {};
    return Response.json({ items, ...more });
  }

  #one(id: string): Response {
    const item = this.items.find((json) => json.id === id) ?? this.settled.get(id);
    return item === undefined ? problem(404, "unknown_interrupt") : Response.json(item);
  }

  #stream(signal: AbortSignal | null | undefined): Response {
    // As the real one does: whoever has left already is not connected.
    signal?.throwIfAborted();
    let mine: ReadableStreamDefaultController<Uint8Array> | undefined;
    const leave = () => {
      this.#feeds = this.#feeds.filter((feed) => feed !== mine);
    };
    const body = new ReadableStream<Uint8Array>({
      start: (feed) => {
        mine = feed;
        this.#feeds.push(feed);
        feed.enqueue(new TextEncoder().encode('data: {"type":"connected"}\n\n'));
        signal?.addEventListener("abort", () => {
          if (this.#feeds.includes(feed)) feed.error(new DOMException("aborted", "AbortError"));
          leave();
        });
      },
      cancel: leave,
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  }
}
