import type { Drafts } from "./drafts.js";
import { expiryOf } from "./expiry.js";
import { failureFromRejection } from "./failure.js";
import { backoff, browserPage, type Page } from "./polling.js";
import {
  canOutlive,
  InboxClient,
  type InboxAddress,
  type InboxEvent,
  type Reply,
  type Taken,
} from "./inboxClient.js";
import {
  EMPTY_INBOX,
  forget,
  withAnswer,
  withEnd,
  withFailure,
  withHeld,
  withLeft,
  withList,
  withListed,
  withProblems,
  withRestored,
  withSendAt,
  withSending,
  withoutThread,
  type InboxState,
} from "./inboxState.js";
import { asRecord } from "./json.js";
import { OUT_OF_DATE } from "./machine.js";
import { rightsOf } from "./rights.js";
import { shapeOf } from "./shape.js";
import { ServerClock } from "./serverClock.js";
import { Shown } from "./shown.js";
import { SilentBody, STALE_MS } from "./silence.js";
import type { Validate } from "./controller.js";
import type { InboxItem, Listed } from "./inboxItems.js";
import type { Answer, Connection, Failure, Interrupt } from "./types.js";

export interface InboxOptions extends InboxAddress {
  /** The server's time in epoch milliseconds. Default: as its answers say what time it is. */
  readonly clock?: () => number;
  /** Checks answers against their `responseSchema` before they are sent (CL-05). */
  readonly validate?: Validate;
  readonly page?: Page;
  /** Keeps answers over a reload until they are sent; see `ControllerOptions`. Default: none. */
  readonly drafts?: Drafts;
  /**
   * How long an approval or a denial waits before it is sent, so that it can be undone. Default 0 ms:
   * it is sent at once. What waits is sent when the page is left or hidden, and what is too long for
   * that does not wait. A function is asked each time.
   */
  readonly undoMs?: number | (() => number);
  /** How often a page that nobody looks at asks how many are open. Default 30 000 ms. */
  readonly pollMs?: number;
}

const MAX_LOOKUPS = 20;
/** For how long it is asked what came of a call that was decided here, where nobody has said so. */
const RESULT_MS = 600_000;
/** What ends within this is not kept waiting: it is sent at once. */
const URGENT_MS = 10_000;
/** An answer that is so late was forgotten by a machine that slept: nobody expects it to leave now. */
const LATE_MS = 10_000;

/**
 * The open questions of all threads of one server, followed live, and their answers.
 *
 * An answer goes out by itself; the server keeps it until the others of its thread are there. What
 * is not taken stays, with the reason, and the same can be sent again. While nobody looks at the
 * page the list is only polled, so that a forgotten tab holds no connection.
 */
export class Inbox {
  readonly clock: () => number;
  readonly #client: InboxClient;
  readonly #validate: Validate | undefined;
  readonly #page: Page;
  readonly #drafts: Drafts | undefined;
  readonly #pollMs: number;
  readonly #undoMs: () => number;
  readonly #listeners = new Set<() => void>();
  readonly #shown = new Shown();
  readonly #timers = new Map<string, ReturnType<typeof setTimeout>>();
  /** What would have been sent while nothing was. */
  readonly #due = new Set<string>();
  #state: InboxState = EMPTY_INBOX;
  #users = 0;
  #stopFollowing: (() => void) | undefined;
  #wake: (() => void) | undefined;
  #attempt = 0;
  #suspended = false;

  constructor(options: InboxOptions) {
    const server = new ServerClock();
    this.clock = options.clock ?? server.now;
    this.#client = new InboxClient(options, server);
    this.#validate = options.validate;
    this.#page = options.page ?? browserPage();
    const { undoMs = 0 } = options;
    this.#undoMs = typeof undoMs === "number" ? () => undoMs : undoMs;
    this.#pollMs = options.pollMs ?? 30_000;
    this.#drafts = options.drafts;
  }

  /** The present state; the same object until something changes. */
  readonly getSnapshot = (): InboxState => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  };

  /** Follows the server until the returned function is called; several users share one stream. */
  open(): () => void {
    this.#users += 1;
    if (this.#users === 1) this.#stopFollowing = this.#follow();
    let open = true;
    return () => {
      if (!open) return;
      open = false;
      this.#users -= 1;
      if (this.#users > 0) return;
      this.#stopFollowing?.();
      this.#stopFollowing = undefined;
      // Nobody follows any more: it may be somebody else's page by now.
      this.#leave(this.#waiting());
    };
  }

  /** Tries the server again at once, also after it denied access. */
  reconnect(): void {
    this.#attempt = 0;
    if (this.#wake !== undefined) this.#wake();
    else if (this.#users > 0) {
      this.#stopFollowing?.();
      this.#stopFollowing = this.#follow();
    }
  }

  /**
   * Sends no answer until `resume`: for a page that has to find out whether the same person is there
   * as before. What waits stays so; it is not sent (`left`) if nobody follows any more.
   */
  suspend(): void {
    this.#suspended = true;
  }

  /** Sends answers again, and what became due meanwhile at once. */
  resume(): void {
    if (!this.#suspended) return;
    this.#suspended = false;
    // By what came, not by the clock: the server's may go back, and then nothing would send them.
    void this.send(this.#waiting().filter((id) => this.#due.has(id)));
  }

  /** Keeps an answer without sending it; says whether it was taken. */
  keep(id: string, answer: Answer): boolean {
    const item = this.#item(id);
    if (item === undefined || this.#state.sending.includes(id)) return false;
    this.#shown.note(item.interrupt);
    this.#set(withAnswer(this.#state, id, answer));
    if (answer.status === "cancelled" || this.#validate === undefined) return true;
    const problems = this.#validate(item.interrupt, answer.payload);
    if (problems.length > 0) this.#set(withProblems(this.#state, id, problems));
    return problems.length === 0;
  }

  /** Answers one interrupt and sends it: at once, or after `undoMs`, until when `withdraw` undoes it. */
  async answer(id: string, answer: Answer): Promise<void> {
    if (!this.keep(id, answer)) return;
    const wait = this.#waitOf(id, answer);
    if (wait === 0) return this.send([id]);
    const due = Date.now() + wait;
    const timer = setTimeout(() => {
      if (Date.now() - due > LATE_MS) this.#leave([id]);
      else void this.send([id]);
    }, wait);
    this.#timers.set(id, timer);
    this.#set(withSendAt(this.#state, id, this.clock() + wait));
  }

  /**
   * How long an answer waits: an approval or a denial, unless its time is nearly over, nobody looks
   * at the page, or it could not be sent any more when the page goes away.
   */
  #waitOf(id: string, answer: Answer): number {
    const interrupt = this.#item(id)?.interrupt;
    const undoMs = this.#undoMs();
    if (interrupt === undefined || answer.status !== "resolved" || undoMs <= 0) return 0;
    if (this.#page.hidden()) return 0;
    const left = (expiryOf(interrupt) ?? Infinity) - this.clock();
    const urgent = left <= Math.max(URGENT_MS, 2 * undoMs);
    if (urgent || shapeOf(interrupt).kind !== "approval") return 0;
    const waiting = this.#waiting().flatMap((other) => this.#state.answers[other] ?? []);
    return canOutlive([...waiting, answer]) ? undoMs : 0;
  }

  /** What is sent by itself in a moment. */
  #waiting(): readonly string[] {
    return Object.keys(this.#state.sendAt);
  }

  /** These wait no longer, and are not sent; they stay as they were said. */
  #leave(ids: readonly string[]): void {
    for (const id of ids) this.#set(withLeft(this.#state, id));
  }

  /** Sends what is kept for these interrupts, together; again after a failure. */
  async send(ids: readonly string[]): Promise<void> {
    const { answers, errors, sending } = this.#state;
    const outgoing = new Map<string, Answer>();
    for (const id of ids) {
      const answer = answers[id];
      const fit = (errors[id] ?? []).length === 0 && !sending.includes(id);
      const item = this.#item(id);
      if (answer === undefined || !fit || item === undefined) continue;
      outgoing.set(id, this.#shown.beside(item.interrupt, answer));
    }
    const [first] = outgoing;
    if (first === undefined) return;
    if (this.#suspended) {
      const now = this.clock();
      for (const id of outgoing.keys()) {
        this.#set(withSendAt(this.#state, id, now));
        this.#due.add(id);
      }
      return;
    }
    const threads = new Map([...outgoing.keys()].map((id) => [id, this.#item(id)?.threadId ?? ""]));
    this.#set(withSending(this.#state, [...outgoing.keys()]));
    const results =
      outgoing.size === 1
        ? new Map([["", await this.#client.answer(...first)]])
        : await this.#client.answerAll(outgoing);
    const missing: Taken = { kind: "refused", failure: UNSAID };
    const whole = results.get("");
    const groups = new Map<Taken, string[]>();
    for (const [id, threadId] of threads) {
      const result = results.get(threadId) ?? whole ?? missing;
      groups.set(result, [...(groups.get(result) ?? []), id]);
    }
    for (const [result, group] of groups) this.#took(result, group);
  }

  /** Takes an answer back: one that is only kept here, or one that the server holds. */
  async withdraw(id: string): Promise<void> {
    const held = this.#item(id)?.held ?? null;
    this.#set(forget(this.#state, [id]));
    const item = this.#item(id);
    if (held === null && !(item !== undefined && rightsOf(item.interrupt).takeBack)) return;
    const reply = await this.#client.withdraw(id);
    if (reply.ok) {
      const items = this.#state.items.map((inboxItem) =>
        inboxItem.interrupt.id === id ? { ...inboxItem, held: null } : inboxItem,
      );
      this.#set({ ...this.#state, items });
    } else this.#set(withFailure(this.#state, [id], reply.failure, this.clock()));
  }

  /** Gives one more time, in seconds; resolves with why that was refused, or null. */
  async extend(id: string, seconds: number): Promise<Failure | null> {
    return this.#changed(await this.#client.extend(id, seconds, this.clock()));
  }

  /** Says whose one is, null: nobody's; resolves with why that was refused, or null. */
  async assign(id: string, to: string | null): Promise<Failure | null> {
    return this.#changed(await this.#client.assign(id, to, this.clock()));
  }

  #changed(reply: Reply<Listed | null>): Failure | null {
    if (!reply.ok) return reply.failure;
    if (reply.value !== null) this.#take(withListed(this.#state, reply.value));
    return null;
  }

  /** Asks the server about one interrupt that is not in the list; false when nobody knows it. */
  async refresh(id: string): Promise<boolean> {
    const reply = await this.#client.one(id, this.clock());
    if (!reply.ok) return true;
    if (reply.value === null) return false;
    this.#set(withListed(this.#state, reply.value));
    return true;
  }

  #took(result: Taken, ids: readonly string[]): void {
    if (result.kind === "held") {
      this.#set(withHeld(this.#state, ids, result.withdrawn));
      // Whom it waits for now is the server's to say; its stream may have said it too early.
      if (result.counted) for (const id of ids) void this.refresh(id);
    } else if (result.kind === "refused") {
      this.#set(withFailure(this.#state, ids, result.failure, this.clock()));
      if (result.failure.code !== OUT_OF_DATE) return;
      const changed = Object.keys(result.failure.named);
      this.#shown.forget(changed);
      for (const id of changed) void this.refresh(id);
    } else {
      for (const id of ids) {
        const interrupt = this.#item(id)?.interrupt;
        if (interrupt === undefined) continue;
        const answer = this.#state.answers[id] ?? null;
        const closedAt = this.clock();
        this.#set(withEnd(this.#state, { interrupt, ending: "answered", answer, closedAt }));
      }
    }
  }

  #follow(): () => void {
    const over = new AbortController();
    let present = new AbortController();
    const stops = [
      this.#page.onReturn(() => {
        this.#client.breakOff(STALE_MS);
        this.#wake?.();
      }),
      this.#page.onLeave?.(() => {
        void this.send(this.#waiting());
        if (this.#page.hidden()) present.abort();
      }),
    ];
    const run = async () => {
      const going = () => !over.signal.aborted;
      while (going()) {
        present = new AbortController();
        const wait = this.#page.hidden() ? await this.#poll() : await this.#stream(present.signal);
        if (wait === null) return;
        if (going()) await this.#pause(wait);
      }
    };
    void run();
    return () => {
      over.abort();
      present.abort();
      for (const stop of stops) stop?.();
      this.#wake?.();
    };
  }

  /** Lists once; resolves with the wait before the next time, or null to give up. */
  async #poll(): Promise<number | null> {
    const wait = await this.#list();
    return wait === 0 ? this.#pollMs : wait;
  }

  async #stream(signal: AbortSignal): Promise<number | null> {
    try {
      for await (const event of this.#client.changes(signal, this.clock)) {
        const wait = await this.#on(event);
        if (wait !== 0) return wait;
      }
      return signal.aborted ? 0 : backoff(this.#attempt++);
    } catch (error) {
      if (signal.aborted || error instanceof SilentBody) return 0;
      const cause = asRecord(asRecord(error)?.cause);
      const stored = cause !== undefined && "kind" in cause;
      return this.#lose(stored ? (cause as unknown as Failure) : failureFromRejection(error));
    }
  }

  async #on(event: InboxEvent): Promise<number | null> {
    switch (event.type) {
      case "connected":
      case "reload":
        return this.#list();
      case "changed":
        this.#take(withListed(this.#state, event.listed));
        return 0;
      case "deleted":
        this.#set(withoutThread(this.#state, event.threadId, this.clock()));
        return 0;
      case "closed":
        return 0;
      default:
        return event satisfies never;
    }
  }

  async #list(): Promise<number | null> {
    const reply = await this.#client.list(this.clock);
    if (!reply.ok) return this.#lose(reply.failure);
    this.#attempt = 0;
    const before = this.#state.items;
    const { items, partial } = reply.value;
    this.#take({
      ...withList(this.#state, items, partial, this.clock()),
      connection: { status: "ready" },
    });
    const gone = before.filter(
      (inboxItem) => this.#state.closed[inboxItem.interrupt.id] !== undefined,
    );
    const since = this.clock() - RESULT_MS;
    const unknown = Object.values(this.#state.closed).filter(({ result, ending, closedAt }) =>
      result === undefined
        ? ending === "answered" && closedAt >= since
        : result.status === "running",
    );
    for (const { interrupt } of [...gone, ...unknown].slice(0, MAX_LOOKUPS)) {
      void this.refresh(interrupt.id);
    }
    return 0;
  }

  #lose(failure: Failure): number | null {
    if (failure.httpStatus === 404) return this.#connection({ status: "absent" }, null);
    if (failure.httpStatus === 401 || failure.httpStatus === 403) {
      return this.#connection({ status: "refused", failure }, null);
    }
    const wait = backoff(this.#attempt++);
    return this.#connection({ status: "lost", failure, retryAt: Date.now() + wait }, wait);
  }

  #connection<T>(connection: Connection, wait: T): T {
    this.#set({ ...this.#state, connection });
    return wait;
  }

  #pause(milliseconds: number): Promise<void> {
    if (milliseconds === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#wake = undefined;
        resolve();
      };
      const timer = setTimeout(done, milliseconds);
      this.#wake = done;
    });
  }

  #item(id: string) {
    return this.#state.items.find((item) => item.interrupt.id === id);
  }

  /** Takes over what the server has; what was answered before a reload is offered again. */
  #take(next: InboxState): void {
    const stored = new Set(this.#state.items.map((item) => item.interrupt.id));
    const fresh = next.items.filter((item) => item.held === null && !stored.has(item.interrupt.id));
    const kept = byThread(fresh).flatMap(([threadId, interrupts]) =>
      Object.entries(this.#drafts?.read(threadId, interrupts) ?? {}),
    );
    this.#set(next);
    for (const [id, answer] of kept) {
      if (this.#state.answers[id] !== undefined) continue;
      this.keep(id, answer);
      this.#set(withRestored(this.#state, id));
    }
  }

  #set(next: InboxState): void {
    const before = this.#state;
    if (next === before) return;
    this.#state = next;
    for (const [id, timer] of this.#timers) {
      if (id in next.sendAt || !(id in before.sendAt)) continue;
      clearTimeout(timer);
      this.#timers.delete(id);
    }
    for (const id of this.#due) if (!(id in next.sendAt)) this.#due.delete(id);
    if (this.#drafts !== undefined && next.answers !== before.answers) {
      const changed = [...before.items, ...next.items].filter(
        ({ interrupt: { id } }) => next.answers[id] !== before.answers[id],
      );
      for (const threadId of new Set(changed.map((inboxItem) => inboxItem.threadId))) {
        const ofThread = next.items.filter((item) => item.threadId === threadId);
        const interrupts = ofThread.map((inboxItem) => inboxItem.interrupt);
        this.#drafts.write(threadId, interrupts, next.answers);
      }
    }
    for (const listener of this.#listeners) listener();
  }
}

function byThread(items: readonly InboxItem[]): readonly (readonly [string, Interrupt[]])[] {
  const threads = new Map<string, Interrupt[]>();
  for (const { threadId, interrupt } of items) {
    threads.set(threadId, [...(threads.get(threadId) ?? []), interrupt]);
  }
  return [...threads];
}

const UNSAID: Failure = {
  kind: "protocol",
  message: "The server did not confirm this answer.",
  code: null,
  problems: {},
  named: {},
};
