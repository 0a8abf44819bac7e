import { randomUUID, type AgentSubscriber, type Message } from "@ag-ui/client";
import { canConnect, SaysoAgent } from "./agent.js";
import type { InterruptController } from "./controller.js";
import { isNotServed, isTransient } from "./failure.js";
import { backoff, browserPage, pollEvery, type Page } from "./polling.js";
import { equalJson } from "./json.js";
import type { Origin, Status } from "./machine.js";
import type { RunEnd } from "./runs.js";
import { nextSteps, type Step, type StepEvent } from "./steps.js";
import type { Connection, Failure } from "./types.js";

/** A message that the server may not have: it is shown, and can be sent again. */
export interface Outgoing {
  readonly id: string;
  readonly text: string;
  readonly runId: string;
  /** Null while it is on its way. */
  readonly failure: Failure | null;
}

export interface ConversationState {
  readonly messages: readonly Message[];
  /** A whole number that a double does not hold is a `bigint`, where a `SaysoAgent` has read it. */
  readonly agentState: unknown;
  readonly steps: readonly Step[];
  /** Texts that will be sent one after another once the thread is free. */
  readonly queued: readonly string[];
  readonly unsent: Outgoing | null;
  readonly connection: Connection;
}

export interface ConversationOptions {
  readonly page?: Page;
  readonly newId?: () => string;
  /** How often to look for other people's answers while questions are open. Default 10 000 ms. */
  readonly pollMs?: number;
  /** How long changes of messages are gathered before they are shown. Default 16 ms. */
  readonly frameMs?: number;
}

/** The fate of a text handed to `send`. */
export type Sent = "sent" | "queued" | "blocked";

/** The chat around one controller: messages, steps, state, what waits to be sent, the connection. */
export class Conversation {
  readonly controller: InterruptController;
  readonly #page: Page;
  readonly #newId: () => string;
  readonly #pollMs: number;
  readonly #frameMs: number;
  readonly #listeners = new Set<() => void>();
  #state: ConversationState;
  #outgoing: Outgoing | null = null;
  #attempt = 0;
  #users = 0;
  #close: (() => void) | undefined;
  #frame: ReturnType<typeof setTimeout> | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #poll: ReturnType<typeof setTimeout> | undefined;

  constructor(controller: InterruptController, options: ConversationOptions = {}) {
    this.controller = controller;
    this.#page = options.page ?? browserPage();
    this.#newId = options.newId ?? randomUUID;
    this.#pollMs = options.pollMs ?? 10_000;
    this.#frameMs = options.frameMs ?? 16;
    this.#state = {
      messages: [...controller.agent.messages],
      agentState: controller.agent.state,
      steps: [],
      queued: [],
      unsent: null,
      connection: { status: canConnect(controller.agent) ? "loading" : "ready" },
    };
  }

  /** The present state; the same object until something changes. */
  readonly getSnapshot = (): ConversationState => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  };

  /**
   * Goes live: restores the thread, then follows it until the returned function is called. Several
   * users share one connection.
   */
  open(): () => void {
    this.#users += 1;
    if (this.#users === 1) this.#follow();
    let open = true;
    return () => {
      if (!open) return;
      open = false;
      this.#users -= 1;
      if (this.#users > 0) return;
      this.#close?.();
      this.#close = undefined;
    };
  }

  #follow(): void {
    const { agent, runs, subscribe } = this.controller;
    const stops = [
      subscribe(() => {
        this.#onMachine();
      }),
      runs.listen({
        onStarted: () => {
          this.#connected();
        },
        onProgress: (origin) => {
          if (origin === "run") this.#delivered();
          else this.#update({ connection: { status: "ready" } });
        },
        onStalled: () => {
          this.#update({ connection: { status: "ready" } });
        },
        onOutcome: (origin, end) => {
          this.#onOutcome(origin, end);
        },
        onEnd: (origin, end) => {
          this.#onEnd(origin, end);
        },
      }),
      this.#page.onReturn(() => {
        this.refresh();
      }),
    ];
    const subscription = agent.subscribe(this.#subscriber());
    this.#close = () => {
      for (const stop of stops) stop();
      subscription.unsubscribe();
      for (const timer of [this.#frame, this.#retry, this.#poll]) clearTimeout(timer);
      this.controller.stopFollowing();
    };
    this.refresh();
  }

  /** Asks the server how things stand, unless a run is going on here. */
  refresh(): void {
    clearTimeout(this.#retry);
    void this.controller.connect();
  }

  /**
   * Sends a text; while a run is going on, or while nobody knows yet whether one is, it waits for
   * its turn (E7). While questions are open nothing is sent: they have to be answered, or steered
   * away from (CL-11).
   */
  send(text: string): Sent {
    const { status, interrupts } = this.controller.getSnapshot();
    if (interrupts.length > 0 || status === "submitting") return "blocked";
    if (status === "running" || this.#outgoing !== null || this.#looking) {
      this.#update({ queued: [...this.#state.queued, text] });
      return "queued";
    }
    void this.#post({ id: this.#newId(), text, runId: this.#newId(), failure: null });
    return "sent";
  }

  /** True if a look is under way that may yet find a run: the first one, or one that was answered. */
  get #looking(): boolean {
    const { runs } = this.controller;
    if (this.#state.connection.status === "loading") return true;
    return runs.active === "sync" && runs.started && !runs.concluded;
  }

  /** Takes a waiting text back and returns it. */
  removeQueued(index: number): string | undefined {
    const text = this.#state.queued[index];
    this.#update({ queued: this.#state.queued.filter((_, position) => position !== index) });
    return text;
  }

  /** Sends the message again that did not arrive. */
  resend(): void {
    const { unsent } = this.#state;
    if (unsent === null || this.#outgoing !== null) return;
    // A request that got no answer is repeated as it was, so that it cannot start a second turn.
    const again = unsent.failure !== null && isTransient(unsent.failure);
    void this.#post({ ...unsent, runId: again ? unsent.runId : this.#newId(), failure: null });
  }

  /** Gives up the message that did not arrive and returns its text. */
  discardUnsent(): string | undefined {
    const text = this.#state.unsent?.text;
    this.#update({ unsent: null });
    return text;
  }

  /** Cancels all open questions and sends a text instead, in one request (E9, RE-09). */
  async cancelAndSend(text: string): Promise<void> {
    const [first] = this.controller.getSnapshot().interrupts;
    if (first !== undefined && this.controller.legacyOf(first.id) !== null) {
      // The legacy dialect has no cancelled answer: the text goes out as a message of its own.
      await this.controller.cancelAll();
      this.send(text);
      return;
    }
    const id = this.#newId();
    this.controller.agent.addMessage({ id, role: "user", content: text });
    this.#refresh();
    await this.controller.cancelAll();
  }

  async #post(message: Outgoing): Promise<void> {
    const { agent, runs } = this.controller;
    this.#outgoing = message;
    this.#update({ unsent: null });
    if (!agent.messages.some((item) => item.id === message.id)) {
      agent.addMessage({ id: message.id, role: "user", content: message.text });
    }
    this.#refresh();
    const end = await runs.start("run", { runId: message.runId });
    const undelivered = this.#takeOutgoing();
    if (undelivered !== null && end.kind === "failure") {
      agent.messages = agent.messages.filter((item) => item.id !== message.id);
      this.#update({ unsent: { ...undelivered, failure: end.failure } });
      this.#refresh();
      if (!isTransient(end.failure)) this.refresh();
    }
    this.#flushQueue();
  }

  #takeOutgoing(): Outgoing | null {
    const outgoing = this.#outgoing;
    this.#outgoing = null;
    return outgoing;
  }

  #subscriber(): AgentSubscriber {
    const gather = () => {
      this.#frame ??= setTimeout(() => {
        this.#refresh();
      }, this.#frameMs);
    };
    const anchor = () => this.controller.agent.messages.at(-1)?.id ?? null;
    return {
      onMessagesChanged: gather,
      onStateChanged: gather,
      onStepStartedEvent: ({ event }) => {
        this.#step({ type: "started", name: event.stepName, anchor: anchor() });
      },
      onStepFinishedEvent: ({ event }) => {
        this.#step({ type: "finished", name: event.stepName });
      },
    };
  }

  #step(event: StepEvent): void {
    this.#update({ steps: nextSteps(this.#state.steps, event) });
  }

  /** Takes over what the agent holds; messages that did not change keep their identity. */
  #refresh(): void {
    clearTimeout(this.#frame);
    this.#frame = undefined;
    const { agent } = this.controller;
    const before = new Map(this.#state.messages.map((message) => [message.id, message]));
    const ours = agent instanceof SaysoAgent ? agent : null;
    const messages = agent.messages.map((held) => {
      const message = ours?.exactly(held) ?? held;
      const stored = before.get(message.id);
      return stored !== undefined && equalJson(stored, message) ? stored : { ...message };
    });
    const same =
      messages.length === this.#state.messages.length &&
      messages.every((message, index) => message === this.#state.messages[index]);
    const state: unknown = ours === null ? agent.state : ours.exactState;
    const agentState = equalJson(state, this.#state.agentState) ? this.#state.agentState : state;
    const { unsent } = this.#state;
    const arrived = unsent !== null && messages.some((message) => message.id === unsent.id);
    this.#update({
      messages: same ? this.#state.messages : messages,
      agentState,
      ...(arrived && { unsent: null }),
    });
  }

  #delivered(): void {
    this.#outgoing = null;
  }

  #connected(): void {
    this.#attempt = 0;
    clearTimeout(this.#retry);
    const { status } = this.#state.connection;
    if (status === "lost" || status === "refused")
      this.#update({ connection: { status: "ready" } });
  }

  #onOutcome(origin: Origin, end: RunEnd): void {
    if (origin === "run") this.#delivered();
    this.#step({ type: end.kind === "interrupt" ? "interrupted" : "ended" });
    this.#refresh();
    this.#update({ connection: { status: "ready" } });
  }

  #onEnd(origin: Origin, end: RunEnd): void {
    this.#refresh();
    if (end.kind !== "failure") {
      if (end.kind !== "abandoned" && origin !== "run") {
        this.#flushQueue(origin === "sync" ? "failed" : undefined);
      }
      return;
    }
    this.#step({ type: "ended" });
    if (canConnect(this.controller.agent) && isTransient(end.failure)) this.#lose(end.failure);
    else if (origin === "sync") {
      const { failure } = end;
      const isServed = failure.kind === "agent" || isNotServed(failure);
      this.#update({ connection: isServed ? { status: "ready" } : { status: "refused", failure } });
      this.#flushQueue("failed");
    }
  }

  #lose(failure: Failure): void {
    const wait = backoff(this.#attempt);
    this.#attempt += 1;
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => {
      this.refresh();
    }, wait);
    const retryAt = Date.now() + wait;
    this.#update({ connection: { status: "lost", retryAt, failure } });
  }

  /** Sends the next text if the thread is free; `also` is a status that counts as free as well. */
  #flushQueue(also?: Status): void {
    const { status, interrupts } = this.controller.getSnapshot();
    const [text] = this.#state.queued;
    if (text === undefined || interrupts.length > 0 || this.#outgoing !== null) return;
    if (status !== "idle" && status !== "stale" && status !== also) return;
    if (this.#state.unsent !== null || this.#close === undefined) return;
    this.#update({ queued: this.#state.queued.slice(1) });
    this.send(text);
  }

  /** While questions are open somebody else may answer them: look again from time to time. */
  #onMachine(): void {
    clearTimeout(this.#poll);
    const wait = pollEvery(this.controller.getSnapshot().status, this.#pollMs);
    if (wait === null || !canConnect(this.controller.agent)) return;
    const again = () => {
      if (!this.#page.hidden() && this.#state.connection.status !== "lost") this.refresh();
      this.#poll = setTimeout(again, wait);
    };
    this.#poll = setTimeout(again, wait);
  }

  #update(change: Partial<ConversationState>): void {
    const next = { ...this.#state, ...change };
    if (equalJson(next.connection, this.#state.connection)) {
      next.connection = this.#state.connection;
    }
    const keys = Object.keys(next) as (keyof ConversationState)[];
    if (keys.every((key) => Object.is(next[key], this.#state[key]))) return;
    this.#state = next;
    for (const listener of this.#listeners) listener();
  }
}

const CONVERSATIONS = new WeakMap<InterruptController, Conversation>();

/** The one conversation around a controller; `options` count when it is made, at the first call. */
export function conversationOf(
  controller: InterruptController,
  options?: ConversationOptions,
): Conversation {
  const conversation = CONVERSATIONS.get(controller);
  if (conversation !== undefined) return conversation;
  const made = new Conversation(controller, options);
  CONVERSATIONS.set(controller, made);
  return made;
}
