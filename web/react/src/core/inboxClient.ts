import { spelt } from "./exact.js";
import { failureFromHttp, failureFromRejection, timedOut, unwritable } from "./failure.js";
import { readEvents } from "./eventStream.js";
import { readListed, type InboxItem, type Listed } from "./inboxItems.js";
import { asRecord, asText, parseJson, textsOf, writeJson } from "./json.js";
import { ServerClock } from "./serverClock.js";
import { Bodies } from "./silence.js";
import type { Answer, Closed, Failure } from "./types.js";

/** Where a Sayso server is, and how it is asked. */
export interface InboxAddress {
  /** The server's address, below which `interrupts` is; a trailing slash is added. */
  readonly url: string;
  /** Default: the global `fetch`. Credentials are put on here. */
  readonly fetch?: typeof fetch;
  /** How long a request may take. Default 30 000 ms. */
  readonly timeoutMs?: number;
}

/** The result of a request: the parsed body, or why there is none. */
export type Reply<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly failure: Failure };

/** The result of answers for one thread. */
export type Taken =
  | { readonly kind: "settled" }
  | {
      readonly kind: "held";
      /** It counts as an agreement; others have to agree, too. */
      readonly counted: boolean;
      /** Who had agreed to another answer, and does not any more. */
      readonly withdrawn: readonly string[];
    }
  | { readonly kind: "refused"; readonly failure: Failure };

/** One change in the inbox. */
export type InboxEvent =
  | { readonly type: "connected" | "reload" | "closed" }
  | { readonly type: "deleted"; readonly threadId: string }
  | { readonly type: "changed"; readonly listed: Listed };

const PAGE_SIZE = 500;
const MAX_ITEMS = 5000;
/** A page of large questions ends before it is full; the server allows so many requests a minute. */
const MAX_PAGES = 100;
/**
 * The bytes of answers that may be on their way when a page goes away. Browsers allow 64 KiB for all
 * requests that outlive one; the rest is for what frames them.
 */
const OUTLIVING_BYTES = 60_000;

/** The inbox of the REST interface (design 5). Nothing here rejects but the stream. */
export class InboxClient {
  readonly #base: string;
  readonly #fetch: typeof fetch;
  readonly #timeoutMs: number;
  readonly #bodies = new Bodies();
  readonly #server: ServerClock;
  #outliving = 0;

  constructor({ url, fetch: given, timeoutMs }: InboxAddress, server = new ServerClock()) {
    this.#server = server;
    this.#base = url.endsWith("/") ? url : `${url}/`;
    this.#fetch = given ?? ((...request) => fetch(...request));
    this.#timeoutMs = timeoutMs ?? 30_000;
  }

  /**
   * Everything that is open, at most 5 000 and what 100 pages hold; `partial` when there is more, or
   * when the server allows no further request for now.
   */
  async list(now: () => number): Promise<Reply<{ items: readonly InboxItem[]; partial: boolean }>> {
    const items: InboxItem[] = [];
    let cursor: string | undefined;
    let pages = 0;
    do {
      const query = new URLSearchParams({ limit: String(PAGE_SIZE), ...(cursor && { cursor }) });
      const page = await this.#request("GET", `interrupts?${query.toString()}`);
      if (!page.ok) {
        if (pages > 0 && page.failure.httpStatus === 429) break;
        return page;
      }
      pages += 1;
      const body = asRecord(page.value);
      for (const item of Array.isArray(body?.items) ? (body.items as unknown[]) : []) {
        const listed = readListed(item, now());
        if (listed?.closed === null) items.push(listed.item);
      }
      cursor = asText(body?.nextCursor);
    } while (cursor !== undefined && items.length < MAX_ITEMS && pages < MAX_PAGES);
    return { ok: true, value: { items, partial: cursor !== undefined } };
  }

  /** One interrupt, open or not; null when the server does not know it. */
  async one(id: string, now: number): Promise<Reply<Listed | null>> {
    const reply = await this.#request("GET", `interrupts/${encodeURIComponent(id)}`);
    if (reply.ok) return { ok: true, value: readListed(reply.value, now) };
    return reply.failure.httpStatus === 404 ? { ok: true, value: null } : reply;
  }

  /** Answers one interrupt; the request outlives its page if it is short enough. */
  async answer(id: string, answer: Answer): Promise<Taken> {
    const path = `interrupts/${encodeURIComponent(id)}/answer`;
    const reply = await this.#request("POST", path, () => spelt(answer), true);
    return reply.ok ? taken(asRecord(reply.value)) : { kind: "refused", failure: reply.failure };
  }

  /**
   * Answers several; for each thread all are taken or none. The result is by thread id, or one for
   * all of them under the empty id. The request outlives its page if it is short enough.
   */
  async answerAll(answers: ReadonlyMap<string, Answer>): Promise<ReadonlyMap<string, Taken>> {
    const entries = () =>
      [...answers].map(([interruptId, answer]) => ({ interruptId, ...spelt(answer) }));
    const body = () => ({ answers: entries() });
    const reply = await this.#request("POST", "interrupts/answers", body, true);
    if (!reply.ok) return new Map([["", { kind: "refused", failure: reply.failure }]]);
    const said = asRecord(reply.value);
    if (!Array.isArray(said?.items)) return new Map([["", taken(said)]]);
    return new Map(
      (said.items as unknown[]).map((item) => {
        const thread = asRecord(item);
        return [asText(thread?.threadId) ?? "", taken(thread)];
      }),
    );
  }

  /** Takes a held answer back. */
  async withdraw(id: string): Promise<Reply<unknown>> {
    return this.#request("DELETE", `interrupts/${encodeURIComponent(id)}/answer`);
  }

  /** Gives an interrupt more time, in seconds. */
  async extend(id: string, seconds: number, now: number): Promise<Reply<Listed | null>> {
    return this.#change(id, "extend", { seconds }, now);
  }

  /** Says whose an interrupt is; null takes that back. */
  async assign(id: string, to: string | null, now: number): Promise<Reply<Listed | null>> {
    return this.#change(id, "assign", { to }, now);
  }

  /** A secret of the call that a question is about, at a JSON Pointer into its arguments. */
  async reveal(id: string, pointer: string): Promise<Reply<unknown>> {
    const path = `interrupts/${encodeURIComponent(id)}/reveal`;
    const reply = await this.#request("POST", path, () => ({ pointer }));
    return reply.ok ? { ok: true, value: asRecord(reply.value)?.value } : reply;
  }

  async #change(id: string, verb: string, body: unknown, now: number) {
    const path = `interrupts/${encodeURIComponent(id)}/${verb}`;
    const reply = await this.#request("POST", path, () => body);
    return reply.ok ? { ok: true as const, value: readListed(reply.value, now) } : reply;
  }

  /**
   * What changes, until the stream ends or `signal` ends it. Rejects with a `Failure` in `cause`
   * when it cannot be had, and with `SilentBody` when nothing comes any more.
   */
  async *changes(signal: AbortSignal, now: () => number): AsyncGenerator<InboxEvent> {
    if (signal.aborted) return;
    const late = new AbortController();
    const timer = setTimeout(() => {
      late.abort(new DOMException("The inbox gave no answer.", "NetworkError"));
    }, this.#timeoutMs);
    const stop = () => {
      late.abort();
    };
    signal.addEventListener("abort", stop);
    try {
      const response = await this.#fetch(this.#address("interrupts/stream"), {
        headers: { accept: "text/event-stream" },
        signal: late.signal,
      });
      clearTimeout(timer);
      if (!response.ok || response.body === null) {
        const failure = failureFromHttp(response.status, await response.text());
        throw new Error(failure.message, { cause: failure });
      }
      const { body } = this.#bodies.watch(response);
      for await (const event of readEvents(body ?? response.body)) {
        const read = readEvent(asRecord(event), now());
        if (read !== null) yield read;
      }
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    }
  }

  /** Breaks off a stream that has been silent for so long (ms). */
  breakOff(silentMs: number): void {
    this.#bodies.breakOff(silentMs);
  }

  #address(path: string): string {
    // Only now: a page that is rendered on a server has no address, and asks for nothing.
    const here = typeof location === "undefined" ? undefined : location.href;
    return new URL(path, new URL(this.#base, here)).href;
  }

  async #request(
    method: string,
    path: string,
    body?: () => unknown,
    outlives = false,
  ): Promise<Reply<unknown>> {
    let text: string | undefined;
    try {
      if (body !== undefined) text = writeJson(body());
    } catch (error) {
      return refused(unwritable(error));
    }
    const late = new AbortController();
    const timer = setTimeout(() => {
      late.abort();
    }, this.#timeoutMs);
    const bytes = outlives ? bytesOf(text ?? "") : 0;
    const keepalive = outlives && this.#outliving + bytes <= OUTLIVING_BYTES;
    if (keepalive) this.#outliving += bytes;
    try {
      const response = await this.#fetch(this.#address(path), {
        method,
        headers: {
          accept: "application/json",
          ...(text !== undefined && { "content-type": "application/json" }),
        },
        signal: late.signal,
        ...(text !== undefined && { body: text }),
        ...(keepalive && { keepalive }),
      });
      const date = response.headers.get("date");
      if (date !== null) this.#server.heard(Date.parse(date), 1000);
      const said = await response.text();
      if (!response.ok) return refused(failureFromHttp(response.status, said));
      const value = parseJson(said);
      if (value !== undefined || said === "") return { ok: true, value };
      return refused({ ...failureFromHttp(response.status, ""), message: NOT_OURS });
    } catch (error) {
      return refused(late.signal.aborted ? timedOut(this.#timeoutMs) : failureFromRejection(error));
    } finally {
      clearTimeout(timer);
      if (keepalive) this.#outliving -= bytes;
    }
  }
}

/**
 * True if these answers can still be sent, in one request, when their page goes away; none can with
 * one among them that is no JSON.
 */
export function canOutlive(answers: readonly Answer[]): boolean {
  try {
    const bytes = answers.reduce((all, answer) => all + bytesOf(writeJson(spelt(answer))) + 200, 0);
    return bytes <= OUTLIVING_BYTES;
  } catch {
    return false;
  }
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** How one interrupt of a Sayso server ended; null while it is open, and when nobody can say. */
export async function fetchOutcome(address: InboxAddress, id: string): Promise<Closed | null> {
  const reply = await new InboxClient(address).one(id, Date.now());
  return reply.ok ? (reply.value?.closed ?? null) : null;
}

/** A secret of the call that a question is about, for whoever may answer it; the server notes who saw it. */
export async function fetchSecret(
  address: InboxAddress,
  id: string,
  pointer: string,
): Promise<Reply<unknown>> {
  return new InboxClient(address).reveal(id, pointer);
}

/** Takes back what this reader has said about a question; why that was refused, or null. */
export async function takeBack(address: InboxAddress, id: string): Promise<Failure | null> {
  const reply = await new InboxClient(address).withdraw(id);
  return reply.ok ? null : reply.failure;
}

/** Has the server keep answers until the rest of their sets are there; why not, or null. */
export async function hold(
  address: InboxAddress,
  answers: ReadonlyMap<string, Answer>,
): Promise<Failure | null> {
  for (const taken of (await new InboxClient(address).answerAll(answers)).values()) {
    if (taken.kind === "refused") return taken.failure;
  }
  return null;
}

const NOT_OURS = "This address answers, but not as a Sayso server.";

function refused(failure: Failure): { readonly ok: false; readonly failure: Failure } {
  return { ok: false, failure };
}

function taken(body: Readonly<Record<string, unknown>> | undefined): Taken {
  const problem = asRecord(body?.problem);
  if (problem !== undefined) {
    const status = typeof problem.status === "number" ? problem.status : 500;
    return { kind: "refused", failure: failureFromHttp(status, problem) };
  }
  return typeof body?.remaining === "number" && body.remaining > 0
    ? { kind: "held", counted: body.waitsFor !== undefined, withdrawn: textsOf(body.withdrawn) }
    : { kind: "settled" };
}

function readEvent(
  event: Readonly<Record<string, unknown>> | undefined,
  now: number,
): InboxEvent | null {
  const type = event?.type;
  if (type === "connected" || type === "reload" || type === "closed") return { type };
  if (type === "deleted") return { type, threadId: asText(event?.threadId) ?? "" };
  const listed = readListed(event?.interrupt, now);
  return listed === null ? null : { type: "changed", listed };
}
