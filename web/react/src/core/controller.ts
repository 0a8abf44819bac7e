import {
  buildResumeArray,
  randomUUID,
  type AbstractAgent,
  type Interrupt,
  type RunAgentParameters,
  type RunAgentResult,
} from "@ag-ui/client";
import { canConnect } from "./agent.js";
import type { Drafts } from "./drafts.js";
import { nextExpiry } from "./expiry.js";
import { needsLook } from "./failure.js";
import { FrontendTools } from "./frontendTools.js";
import { canSubmit, reduce } from "./machine.js";
import { initialState, type Action, type MachineState, type Origin } from "./machineState.js";
import { readInterrupt } from "./readInterrupt.js";
import { legacyCommand, type LegacyQuestion } from "./legacy.js";
import { RunDriver, type RunEnd } from "./runs.js";
import type { Answer, Answers, Closed, Problem } from "./types.js";

/** Checks a payload before it is kept as an answer; no problems means that it may be sent. */
export type Validate = (interrupt: Interrupt, payload: unknown) => readonly Problem[];

export interface ControllerOptions {
  /** The time in epoch milliseconds; give the server's when it is known. Default `Date.now`. */
  readonly clock?: () => number;
  /** Makes run ids. Default: random. */
  readonly newId?: () => string;
  /** How long a request may stay silent before it counts as failed. Default 30 000 ms. */
  readonly timeoutMs?: number;
  /** Checks answers against their `responseSchema` before they are kept (CL-05). */
  readonly validate?: Validate;
  /**
   * Keeps answers over a reload until they are sent. What comes back is in `answers` again and goes
   * out with the next submission, so whoever draws the questions has to show it. Default: none.
   */
  readonly drafts?: Drafts;
  /**
   * Asks how a question ended that was gone when we looked; null when nobody knows. With it, cards
   * say who decided what elsewhere. Default: not asked.
   */
  readonly lookUp?: (interruptId: string) => Promise<Closed | null>;
}

/** What is kept of a thread that was left. */
interface Parked {
  readonly state: MachineState;
  readonly legacy: LegacyQuestion | null;
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * The open questions of one agent's thread and their answers.
 *
 * It keeps its own list of what is open, collects one answer per interrupt, sends all of them in
 * one `resume` under a fresh run id, and keeps questions and answers whenever that fails, so that
 * the same entries can be sent again. It works with any `AbstractAgent`; with one that can
 * `connect` it also follows what the server has.
 */
export class InterruptController {
  readonly agent: AbstractAgent;
  readonly runs: RunDriver;
  /** Tools that a person answers in this client. */
  readonly tools: FrontendTools;
  readonly clock: () => number;
  readonly #validate: Validate | undefined;
  readonly #drafts: Drafts | undefined;
  readonly #lookUp: ControllerOptions["lookUp"];
  readonly #listeners = new Set<() => void>();
  readonly #parked = new Map<string, Parked>();
  #state: MachineState;
  #legacy: LegacyQuestion | null = null;
  #stopListening: (() => void) | undefined;
  #expiryTimer: ReturnType<typeof setTimeout> | undefined;
  #sync: Promise<RunEnd> | undefined;

  constructor(agent: AbstractAgent, options: ControllerOptions = {}) {
    this.agent = agent;
    this.clock = options.clock ?? Date.now;
    this.#validate = options.validate;
    this.#drafts = options.drafts;
    this.#lookUp = options.lookUp;
    this.runs = new RunDriver(agent, {
      timeoutMs: options.timeoutMs ?? 30_000,
      newId: options.newId ?? randomUUID,
    });
    this.tools = new FrontendTools(agent, this.runs, () => this.#state.interrupts.length > 0);
    this.runs.tools = () => this.tools.list();
    this.#state = initialState(agent.threadId);
  }

  /** The present state; the same object until something changes. */
  readonly getSnapshot = (): MachineState => this.#state;

  /** Calls `listener` after each change. The agent is listened to while anybody subscribes. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    this.#stopListening ??= this.#listen();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#stopListening?.();
      this.#stopListening = undefined;
      clearTimeout(this.#expiryTimer);
    };
  };

  /** Keeps an answer without sending anything; says whether it was taken. */
  answer(id: string, answer: Answer): boolean {
    const interrupt = this.#state.interrupts.find((one) => one.id === id);
    if (interrupt === undefined) return false;
    if (answer.status === "resolved" && this.#validate !== undefined) {
      const problems = this.#validate(interrupt, answer.payload);
      if (problems.length > 0) {
        this.#dispatch({ type: "objected", id, problems });
        return false;
      }
    }
    this.#dispatch({ type: "answered", id, answer, now: this.clock() });
    return this.#state.answers[id] === answer;
  }

  /** Takes an answer back before it is sent. */
  withdraw(id: string): void {
    this.#dispatch({ type: "withdrawn", id, now: this.clock() });
  }

  /**
   * Answers one interrupt (the first one, when no id is given) and sends everything as soon as
   * each open interrupt has its answer. Resolves with the run's result; with undefined while others
   * wait, or when the run failed (`status` and `failure` say why). It never rejects.
   */
  resolve(payload?: unknown, id?: string): Promise<RunAgentResult | undefined> {
    const answer: Answer =
      payload === undefined ? { status: "resolved" } : { status: "resolved", payload };
    return this.#answerAndSend(id, answer);
  }

  /**
   * Declines to answer one interrupt (the first one, when no id is given); see `resolve`. One of
   * the legacy dialect, which has no way to say so, is only put away (LG-11).
   */
  cancel(id?: string): Promise<RunAgentResult | undefined> {
    return this.#answerAndSend(id, { status: "cancelled" });
  }

  /** Cancels everything that is open and sends that. */
  cancelAll(): Promise<RunAgentResult | undefined> {
    for (const one of this.#state.interrupts) this.answer(one.id, { status: "cancelled" });
    return this.submit();
  }

  /**
   * Sends all answers in one `resume`, or again after a failure: the same entries, a fresh run id
   * (CL-06). Does nothing unless every open interrupt is answered and nothing is on its way.
   */
  async submit(): Promise<RunAgentResult | undefined> {
    const now = this.clock();
    if (!canSubmit(this.#state, now)) {
      this.#dispatch({ type: "ticked", now });
      return undefined;
    }
    const parameters = this.#entries();
    if (parameters === null) {
      this.#dispatch({ type: "finished", origin: "submit", now });
      return undefined;
    }
    this.#dispatch({ type: "submitted", now });
    const end = await this.runs.start("submit", parameters);
    if (end.kind === "failure" || end.kind === "abandoned") return undefined;
    return end.result;
  }

  /**
   * Asks the server how the thread stands and follows a live run until it ends. Does nothing while
   * a run of our own is going on, or when the agent has no way to connect.
   */
  connect(): Promise<RunEnd | undefined> {
    if (!canConnect(this.agent)) return Promise.resolve(undefined);
    if (this.#sync !== undefined) return this.#sync;
    if (this.runs.active !== null && !this.runs.concluded) return Promise.resolve(undefined);
    const sync = this.runs.start("sync").finally(() => {
      if (this.#sync === sync) this.#sync = undefined;
    });
    this.#sync = sync;
    return sync;
  }

  /** Gives up a look that is under way; the server is not told. */
  lookAway(): void {
    if (this.#sync === undefined) return;
    this.#sync = undefined;
    void this.runs.abandon();
  }

  /** The thread was stopped by other means: what is open was cancelled with it. */
  stopped(): void {
    if (this.#state.interrupts.length === 0) return;
    this.#dispatch({ type: "finished", origin: "sync", cancelled: true, now: this.clock() });
  }

  /** Puts away what ended without us; the thread is free for the next message. */
  dismiss(): void {
    this.#dispatch({ type: "dismissed" });
  }

  /** Follows the agent to another thread; what was open on the old one is kept for the way back. */
  async switchThread(threadId: string): Promise<void> {
    if (threadId === this.#state.threadId) return;
    await this.runs.abandon();
    this.#parked.set(this.#state.threadId, { state: this.#state, legacy: this.#legacy });
    const back = this.#parked.get(threadId);
    this.agent.threadId = threadId;
    this.#legacy = back?.legacy ?? null;
    this.agent.pendingInterrupts = this.#legacy === null ? [...(back?.state.interrupts ?? [])] : [];
    this.#set(back?.state ?? reduce(this.#state, { type: "reset", threadId }));
  }

  /** The question as an older server asked it, when this interrupt is one of those (LG-03). */
  legacyOf(id: string): LegacyQuestion | null {
    return this.#legacy?.interrupt.id === id ? this.#legacy : null;
  }

  /** The answers in the dialect of the questions (F4); null when there is nothing to send. */
  #entries(): RunAgentParameters | null {
    const { interrupts, answers } = this.#state;
    const [first] = interrupts;
    const legacy = first === undefined ? null : this.legacyOf(first.id);
    if (legacy === null) return { resume: buildResumeArray([...interrupts], { ...answers }) };
    const answer = answers[legacy.interrupt.id];
    if (answer?.status !== "resolved") return null;
    return { forwardedProps: legacyCommand(legacy, answer) };
  }

  async #answerAndSend(id: string | undefined, answer: Answer) {
    const target = id ?? this.#state.interrupts[0]?.id;
    if (target === undefined || !this.answer(target, answer)) return undefined;
    return canSubmit(this.#state, this.clock()) ? this.submit() : undefined;
  }

  #listen(): () => void {
    // What the agent learnt while nobody listened here is taken from its own list, which may have
    // been loaded with a stored conversation: what is no question there is left out (A3).
    const known = this.agent.pendingInterrupts.flatMap((one) => readInterrupt(one) ?? []);
    if (this.#state.interrupts.length === 0 && known.length > 0) {
      this.#interrupted("run", known);
    } else {
      this.#dispatch({ type: "ticked", now: this.clock() });
    }
    return this.runs.listen({
      onStarted: (origin) => {
        if (origin === "run") this.#started(origin);
      },
      onProgress: (origin) => {
        if (origin === "submit") this.#dispatch({ type: "accepted", now: this.clock() });
        else this.#started(origin);
      },
      onOutcome: (origin, end) => {
        this.#onOutcome(origin, end);
      },
      onEnd: (origin, end) => {
        this.#onEnd(origin, end);
      },
    });
  }

  #started(origin: Origin): void {
    this.#dispatch({ type: "started", origin, now: this.clock() });
  }

  #onOutcome(origin: Origin, end: RunEnd): void {
    this.#legacy = end.kind === "interrupt" ? end.legacy : null;
    if (end.kind === "interrupt") this.#interrupted(origin, end.interrupts, end.problem);
    else {
      const cancelled = end.kind === "cancelled";
      const problem = end.kind === "success" ? end.problem : null;
      this.#dispatch({ type: "finished", origin, cancelled, problem, now: this.clock() });
    }
  }

  #onEnd(origin: Origin, end: RunEnd): void {
    if (end.kind === "abandoned") this.#dispatch({ type: "abandoned" });
    if (end.kind !== "failure") return;
    this.#dispatch({ type: "failed", origin, failure: end.failure, now: this.clock() });
    if (origin === "submit" && needsLook(end.failure)) void this.connect();
  }

  #interrupted(
    origin: Origin,
    interrupts: readonly Interrupt[],
    problem: Extract<RunEnd, { kind: "interrupt" }>["problem"] = null,
  ): void {
    const anchor = this.agent.messages.at(-1)?.id ?? null;
    const now = this.clock();
    const recalled = this.#recall(interrupts);
    this.#dispatch({ type: "interrupted", origin, interrupts, anchor, problem, now });
    this.#dispatch({ type: "recalled", answers: recalled, now });
  }

  /** What was answered before a reload, as far as it still fits its question. */
  #recall(interrupts: readonly Interrupt[]): Answers {
    const { threadId, asked } = this.#state;
    const fresh = interrupts.filter(({ id }) => asked[id] === undefined);
    const kept = this.#drafts?.read(threadId, fresh) ?? {};
    return Object.fromEntries(
      fresh.flatMap((one) => {
        const answer = kept[one.id];
        if (answer === undefined) return [];
        const free = answer.status === "cancelled" || this.#validate === undefined;
        const fits = free || this.#validate(one, answer.payload).length === 0;
        return fits ? [[one.id, answer]] : [];
      }),
    );
  }

  /** Asks how those ended that are gone without a word. */
  #askAbout(before: readonly Closed[], after: readonly Closed[]): void {
    if (this.#lookUp === undefined || before === after) return;
    const known = new Set(before.map((one) => one.interrupt.id));
    for (const { interrupt, ending, by } of after) {
      const unclear = ending === "elsewhere" || ending === "superseded" || ending === "lapsed";
      if (!unclear || by !== undefined || known.has(interrupt.id)) continue;
      void this.#lookUp(interrupt.id).then((closed) => {
        if (closed !== null) this.#dispatch({ type: "told", closed });
      });
    }
  }

  #dispatch(action: Action): void {
    this.#set(reduce(this.#state, action));
  }

  #set(next: MachineState): void {
    const before = this.#state;
    if (next === before) return;
    this.#state = next;
    if (next.threadId === before.threadId) this.#keepDrafts(before, next);
    this.#askAbout(before.closed, next.closed);
    this.#watchExpiry();
    for (const listener of this.#listeners) listener();
  }

  /** What is answered is kept until it was sent; a thread with nothing open keeps nothing. */
  #keepDrafts(before: MachineState, next: MachineState): void {
    if (next.answers === before.answers && next.interrupts === before.interrupts) return;
    this.#drafts?.write(next.threadId, next.interrupts, next.answers);
  }

  /** One timer for the next expiry; after it, a server that settles expired ones is asked. */
  #watchExpiry(): void {
    clearTimeout(this.#expiryTimer);
    const wait = nextExpiry(this.#state.interrupts, this.clock());
    if (wait === null || this.#listeners.size === 0) return;
    this.#expiryTimer = setTimeout(
      () => {
        this.#dispatch({ type: "ticked", now: this.clock() });
        this.#watchExpiry();
      },
      Math.min(wait, LONGEST_TIMER_MS),
    );
  }
}

const CONTROLLERS = new WeakMap<AbstractAgent, InterruptController>();

/** The one controller of an agent object; `options` count when it is made, at the first call. */
export function controllerOf(
  agent: AbstractAgent,
  options?: ControllerOptions,
): InterruptController {
  const known = CONTROLLERS.get(agent);
  if (known !== undefined) return known;
  const made = new InterruptController(agent, options);
  CONTROLLERS.set(agent, made);
  return made;
}
