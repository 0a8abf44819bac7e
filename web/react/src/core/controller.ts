import {
  buildResumeArray,
  randomUUID,
  type AbstractAgent,
  type Interrupt,
  type RunAgentParameters,
  type RunAgentResult,
} from "@ag-ui/client";
import { SaysoAgent, canConnect } from "./agent.js";
import type { Drafts } from "./drafts.js";
import { asDoubles } from "./exact.js";
import { nextExpiry } from "./expiry.js";
import { needsRefresh } from "./failure.js";
import { browserPage, type Page } from "./polling.js";
import { FrontendTools } from "./frontendTools.js";
import {
  OUT_OF_DATE,
  canSubmit,
  holdable,
  initialState,
  reduce,
  type Action,
  type MachineState,
  type Origin,
} from "./machine.js";
import { readInterrupt } from "./readInterrupt.js";
import { legacyCommand, type LegacyQuestion } from "./legacy.js";
import { mapOf } from "./json.js";
import { RunDriver, type RunEnd } from "./runs.js";
import { ServerClock } from "./serverClock.js";
import { Shown } from "./shown.js";
import { STALE_MS } from "./silence.js";
import type { Answer, Answers, Closed, Failure, Problem } from "./types.js";

/** Checks a payload before it is kept as an answer; no problems means that it may be sent. */
export type Validate = (interrupt: Interrupt, payload: unknown) => readonly Problem[];

export interface ControllerOptions {
  /** The server's time in epoch milliseconds. Default: as its runs say what time it is. */
  readonly clock?: () => number;
  /** Makes run ids. Default: random. */
  readonly newId?: () => string;
  /** How long the first event of a request may take. Default 30 000 ms. */
  readonly timeoutMs?: number;
  /** Where somebody may return after a connection died unnoticed. Default: the browser's page. */
  readonly page?: Page;
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
  readonly fetchOutcome?: (interruptId: string) => Promise<Closed | null>;
  /**
   * Takes back what this reader has said at the server about a question that still waits for
   * others; resolves with why that was refused, or null. Without it, cards do not offer it.
   */
  readonly takeBack?: (interruptId: string) => Promise<Failure | null>;
  /**
   * Sends answers by themselves, to be kept at the server until those that others decide are there;
   * resolves with why that was refused, or null. Without it, everything is sent together only.
   */
  readonly hold?: (answers: ReadonlyMap<string, Answer>) => Promise<Failure | null>;
}

/** The options that may change while a controller is in use. */
export type LiveOptions = Omit<ControllerOptions, "clock" | "newId" | "page">;

/** The state of a thread that was left. */
interface Parked {
  readonly state: MachineState;
  readonly legacy: LegacyQuestion | null;
}

const MAX_TIMER_MS = 2 ** 31 - 1;
const CONTROLLERS = new WeakMap<AbstractAgent, InterruptController>();

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
  readonly #page: Page;
  readonly #server = new ServerClock();
  readonly #listeners = new Set<() => void>();
  readonly #shown = new Shown();
  readonly #parked = new Map<string, Parked>();
  #options: LiveOptions;
  #state: MachineState;
  #legacy: LegacyQuestion | null = null;
  #stopListening: (() => void) | undefined;
  #expiryTimer: ReturnType<typeof setTimeout> | undefined;
  #sync: Promise<RunEnd> | undefined;

  constructor(agent: AbstractAgent, options: ControllerOptions = {}) {
    this.agent = agent;
    this.clock = options.clock ?? this.#server.now;
    this.#options = options;
    this.#page = options.page ?? browserPage();
    this.runs = new RunDriver(agent, {
      timeoutMs: () => this.#options.timeoutMs ?? 30_000,
      newId: options.newId ?? randomUUID,
      onTime: (time) => {
        this.#server.heard(time);
      },
    });
    this.tools = new FrontendTools(agent, this.runs, () => this.#state.interrupts.length > 0);
    this.runs.tools = () => this.tools.list();
    this.#state = initialState(agent.threadId);
    CONTROLLERS.set(agent, this);
  }

  /** Replaces the options that may change; requests on their way keep theirs. */
  configure(options: LiveOptions): void {
    this.#options = options;
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
    const interrupt = this.#state.interrupts.find((item) => item.id === id);
    if (interrupt === undefined) return false;
    const problems = this.#problemsOf(interrupt, answer);
    if (problems.length > 0) {
      this.#dispatch({ type: "rejected", id, problems });
      return false;
    }
    this.#shown.note(interrupt);
    this.#dispatch({ type: "answered", id, answer, now: this.clock() });
    return this.#state.answers[id] === answer;
  }

  /** Takes an answer back before it is sent. */
  withdraw(id: string): void {
    this.#dispatch({ type: "withdrawn", id, now: this.clock() });
  }

  /** True if `takeBack` can do anything. */
  get takesBack(): boolean {
    return this.#options.takeBack !== undefined;
  }

  /** Takes this reader's agreement to a question back at the server, then looks how it stands. */
  async takeBack(id: string): Promise<void> {
    const failure = (await this.#options.takeBack?.(id)) ?? null;
    if (failure === null) await this.connect();
    else this.#dispatch({ type: "failed", origin: "run", failure, now: this.clock() });
  }

  /** True if `hold` has something to send: this reader has answered all that it may. */
  get holds(): boolean {
    return this.#options.hold !== undefined && holdable(this.#state, this.clock()).length > 0;
  }

  /**
   * Sends what this reader has answered before others have decided the rest, then looks how it
   * stands. Does nothing unless `holds`; a failure is in the state, and the answers stay.
   */
  async hold(): Promise<void> {
    if (this.#options.hold === undefined) return;
    const ids = holdable(this.#state, this.clock());
    const { answers, interrupts } = this.#state;
    const outgoing = interrupts.flatMap((interrupt) => {
      const answer = ids.includes(interrupt.id) ? answers[interrupt.id] : undefined;
      return answer === undefined
        ? []
        : [[interrupt.id, this.#shown.beside(interrupt, answer)] as const];
    });
    if (outgoing.length === 0) return;
    this.#dispatch({ type: "holding" });
    const failure = await this.#options.hold(new Map(outgoing));
    if (failure !== null) this.#onEnd("submit", { kind: "failure", failure });
    else {
      await this.connect();
      this.#dispatch({ type: "held", ids });
    }
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
    for (const interrupt of this.#state.interrupts)
      this.answer(interrupt.id, { status: "cancelled" });
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
  stopFollowing(): void {
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
    if (legacy === null) {
      const said = interrupts.flatMap((interrupt) => {
        const answer = answers[interrupt.id];
        return answer === undefined
          ? []
          : [[interrupt.id, asDoubles(this.#shown.beside(interrupt, answer))] as const];
      });
      return { resume: buildResumeArray([...interrupts], Object.fromEntries(said)) };
    }
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
    // Messages that came while nobody listened are taken from the agent's own list, which may have
    // been loaded with a stored conversation: what is no question there is left out (A3).
    const pending = this.agent.pendingInterrupts.flatMap(
      (interrupt) => readInterrupt(interrupt) ?? [],
    );
    if (this.#state.interrupts.length === 0 && pending.length > 0) {
      this.#interrupted("run", pending);
    } else {
      this.#dispatch({ type: "ticked", now: this.clock() });
    }
    const stopWatching = this.#page.onReturn(() => {
      this.#returned();
    });
    const stopListening = this.runs.listen({
      onStarted: (origin) => {
        if (origin === "run") this.#started(origin);
      },
      onProgress: (origin) => {
        if (origin === "submit") this.#dispatch({ type: "accepted", now: this.clock() });
        else this.#started(origin);
      },
      onStalled: () => {
        // Only what a live run alone would send says that open questions were answered.
        if (this.#state.interrupts.length === 0) this.#started("sync");
      },
      onOutcome: (origin, end) => {
        this.#onOutcome(origin, end);
      },
      onEnd: (origin, end) => {
        this.#onEnd(origin, end);
      },
    });
    return () => {
      stopWatching();
      stopListening();
    };
  }

  /** Nothing says that a connection died while a page slept but that it has been silent since. */
  #returned(): void {
    if (this.agent instanceof SaysoAgent) this.agent.breakOff(STALE_MS);
  }

  #started(origin: Origin): void {
    this.#dispatch({ type: "started", origin, now: this.clock() });
  }

  #onOutcome(origin: Origin, end: RunEnd): void {
    this.#legacy = end.kind === "interrupt" ? end.legacy : null;
    if (end.kind === "interrupt") this.#interrupted(origin, end.interrupts, end.held, end.problem);
    else {
      const cancelled = end.kind === "cancelled";
      const problem = end.kind === "success" ? end.problem : null;
      this.#dispatch({ type: "finished", origin, cancelled, problem, now: this.clock() });
    }
  }

  #onEnd(origin: Origin, end: RunEnd): void {
    if (end.kind === "abandoned") this.#dispatch({ type: "abandoned" });
    if (end.kind !== "failure") return;
    this.#refused(end.failure);
    this.#dispatch({ type: "failed", origin, failure: end.failure, now: this.clock() });
    const silent = end.failure.kind === "silent";
    if (silent) this.#sync = undefined;
    if (silent || (origin === "submit" && needsRefresh(end.failure))) void this.connect();
  }

  #interrupted(
    origin: Origin,
    interrupts: readonly Interrupt[],
    held: readonly Interrupt[] = [],
    problem: Extract<RunEnd, { kind: "interrupt" }>["problem"] = null,
  ): void {
    const anchor = this.agent.messages.at(-1)?.id ?? null;
    const now = this.clock();
    const recalled = this.#recall(interrupts);
    if (problem !== null) this.#refused(problem);
    this.#dispatch({ type: "interrupted", origin, interrupts, held, anchor, problem, now });
    this.#dispatch({ type: "restored", answers: recalled, now });
  }

  /** What has changed is shown as it is now, and the same answer may be sent about that. */
  #refused({ code, named }: Failure): void {
    if (code === OUT_OF_DATE) this.#shown.forget(Object.keys(named));
  }

  /** Answers from before a reload, as far as they still fit their questions. */
  #recall(interrupts: readonly Interrupt[]): Answers {
    const { threadId, asked } = this.#state;
    const fresh = interrupts.filter(({ id }) => asked[id] === undefined);
    const kept = this.#options.drafts?.read(threadId, fresh) ?? mapOf<Answer>();
    return mapOf(
      Object.fromEntries(
        fresh.flatMap((interrupt) => {
          const answer = kept[interrupt.id];
          if (answer === undefined) return [];
          return this.#problemsOf(interrupt, answer).length === 0 ? [[interrupt.id, answer]] : [];
        }),
      ),
    );
  }

  #problemsOf(interrupt: Interrupt, answer: Answer): readonly Problem[] {
    if (answer.status === "cancelled") return [];
    return this.#options.validate?.(interrupt, answer.payload) ?? [];
  }

  /** Asks how those ended that are gone; a refusal says at most who was first. */
  #askAbout(before: readonly Closed[], after: readonly Closed[]): void {
    if (this.#options.fetchOutcome === undefined || before === after) return;
    const stored = new Set(before.map((closed) => closed.interrupt.id));
    for (const { interrupt, ending, answer } of after) {
      const unclear =
        ending === "answeredElsewhere" || ending === "superseded" || ending === "expired";
      if (!unclear || answer !== null || stored.has(interrupt.id)) continue;
      void this.#options.fetchOutcome(interrupt.id).then((closed) => {
        if (closed !== null) this.#dispatch({ type: "outcomeKnown", closed });
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

  /**
   * Answers are kept until they are sent; a thread with nothing open keeps none. Until a look at it
   * has said how it stands, that is not known.
   */
  #keepDrafts(before: MachineState, next: MachineState): void {
    if (next.answers === before.answers && next.interrupts === before.interrupts) return;
    const { threadId, interrupts, inFlight, answers } = next;
    const asked = this.runs.active === "sync" ? [...interrupts, ...inFlight] : interrupts;
    this.#options.drafts?.write(threadId, asked, answers);
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
      Math.min(wait, MAX_TIMER_MS),
    );
  }
}

/** The controller of an agent object: the newest that was made for it, else a new one. */
export function controllerOf(agent: AbstractAgent): InterruptController {
  return CONTROLLERS.get(agent) ?? new InterruptController(agent);
}
