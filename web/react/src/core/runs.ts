import {
  EventType,
  type AbstractAgent,
  type AgentSubscriber,
  type BaseEvent,
  type CustomEvent,
  type Interrupt,
  type RunAgentInput,
  type RunAgentParameters,
  type RunAgentResult,
  type RunErrorEvent,
  type RunFinishedEvent,
  type RunStartedEvent,
} from "@ag-ui/client";
import {
  failureFromEvent,
  failureFromMetadata,
  failureFromRejection,
  timedOut,
  truncated,
} from "./failure.js";
import { asRecord } from "./json.js";
import { LEGACY_EVENT, readLegacy, type LegacyQuestion } from "./legacy.js";
import type { Origin } from "./machine.js";
import { readInterrupt, withAllDigits } from "./readInterrupt.js";
import type { Failure } from "./types.js";

/** How a run ended, whichever of the client's two failure channels said so (CL-15). */
export type RunEnd =
  | {
      readonly kind: "success";
      /** Why the thread's last run failed, as a look at it is told. */
      readonly problem: Failure | null;
      readonly result?: RunAgentResult;
    }
  | {
      readonly kind: "interrupt";
      readonly interrupts: readonly Interrupt[];
      /** Asked with them and answered before; the server keeps that until the rest is answered. */
      readonly held: readonly Interrupt[];
      readonly problem: Failure | null;
      /** Set when an older server asked by a custom event, and is to be answered likewise. */
      readonly legacy: LegacyQuestion | null;
      readonly result?: RunAgentResult;
    }
  | { readonly kind: "cancelled"; readonly result?: RunAgentResult }
  | { readonly kind: "failure"; readonly failure: Failure }
  | { readonly kind: "abandoned" };

/** The events of each run for a listener, in this order. */
export interface RunListener {
  /** The first `RUN_STARTED` came. */
  onStarted?(origin: Origin, runId: string): void;
  /** The server is acting: something came that neither a refusal nor a look would bring. */
  onProgress?(origin: Origin): void;
  /** A look has told how the thread looks, and does not end: a run may be going on there. */
  onStalled?(): void;
  /** `RUN_FINISHED` came; the body may still be open (A2). */
  onOutcome?(origin: Origin, end: RunEnd): void;
  /** The run is over. */
  onEnd?(origin: Origin, end: RunEnd, runId: string): void;
}

interface Track {
  readonly runId: string;
  readonly origin: Origin;
  readonly ours: boolean;
  events: number;
  started: boolean;
  progressed: boolean;
  terminal: RunEnd | null;
  /** The requested run's interrupt outcome, once it has ended with one. */
  asked: RunEnd | null;
  /** The last question of the legacy dialect in this run (LG-11). */
  legacy: LegacyQuestion | null;
  ended: boolean;
  timer?: ReturnType<typeof setTimeout>;
  liveTimer?: ReturnType<typeof setTimeout>;
  finish: (end: RunEnd) => void;
}

const BOUNDARIES: ReadonlySet<EventType> = new Set([
  EventType.RUN_STARTED,
  EventType.RUN_ERROR,
  EventType.RUN_FINISHED,
]);

/** Events that also a refusal or a mere look at a thread consists of. */
const QUIET: Readonly<Record<Origin, ReadonlySet<EventType>>> = {
  run: BOUNDARIES,
  submit: BOUNDARIES,
  sync: new Set([
    ...BOUNDARIES,
    EventType.STATE_SNAPSHOT,
    EventType.MESSAGES_SNAPSHOT,
    EventType.ACTIVITY_SNAPSHOT,
    EventType.CUSTOM,
    EventType.RAW,
  ]),
};

/** The events that a thread at rest consists of; a long thread on a slow line takes a while. */
const SNAPSHOTS: ReadonlySet<EventType> = new Set([
  EventType.MESSAGES_SNAPSHOT,
  EventType.STATE_SNAPSHOT,
]);

const END_WITHIN_MS = 500;

/**
 * Runs an agent, one run at a time, and says how each run really ended: with a terminal event, with
 * an error event, with a rejection, cut short, too late, or given up here. Runs that somebody else
 * starts on the same agent object are heard as well.
 */
export class RunDriver {
  readonly agent: AbstractAgent;
  readonly #timeoutMs: () => number;
  readonly #newId: () => string;
  readonly #onTime: ((time: number) => void) | undefined;
  /** The tools that are offered to the agent with every run and look. */
  tools: () => NonNullable<RunAgentParameters["tools"]> = () => [];
  readonly #listeners = new Set<RunListener>();
  #subscription: { unsubscribe(): void } | undefined;
  #current: Track | undefined;
  #givenUp: string | undefined;

  constructor(
    agent: AbstractAgent,
    options: {
      timeoutMs: () => number;
      newId: () => string;
      /** Told the server's time (epoch ms) when a run begins, where the server says it. */
      onTime?: (time: number) => void;
    },
  ) {
    this.agent = agent;
    this.#onTime = options.onTime;
    this.#timeoutMs = options.timeoutMs;
    this.#newId = options.newId;
  }

  /** The current run or look, if any. */
  get active(): Origin | null {
    return this.#current?.origin ?? null;
  }

  /** True if the present run has begun to answer. */
  get started(): boolean {
    return this.#current?.started === true;
  }

  /** True if the present run has said how it ends, so that only its body is still open. */
  get concluded(): boolean {
    return this.#current === undefined || this.#current.terminal !== null;
  }

  /** Listens to all runs; the agent is subscribed to while anybody listens. */
  listen(listener: RunListener): () => void {
    this.#listeners.add(listener);
    if (this.#subscription === undefined) {
      const { subscribers } = this.agent;
      this.#subscription = this.agent.subscribe(this.#subscriber());
      // Ahead of all others: one that stops an event keeps it from who comes after (CL-03).
      subscribers.unshift(...subscribers.splice(-1));
    }
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#subscription?.unsubscribe();
      this.#subscription = undefined;
    };
  }

  /**
   * Starts a run and resolves when it is over; it never rejects. `runId` is fresh unless a request
   * that got no answer is repeated.
   */
  async start(
    origin: Origin,
    parameters: RunAgentParameters = {},
    subscriber?: AgentSubscriber,
  ): Promise<RunEnd> {
    if (this.#current !== undefined) await this.abandon();
    const runId = parameters.runId ?? this.#newId();
    const ended = new Promise<RunEnd>((resolve) => {
      this.#current = track(runId, origin, true, resolve);
    });
    const current = this.#current;
    if (current === undefined) return ended;
    const timeoutMs = this.#timeoutMs();
    current.timer = setTimeout(() => {
      this.#giveUp(current, { kind: "failure", failure: timedOut(timeoutMs) });
    }, timeoutMs);
    const running = new Promise<RunAgentResult>((resolve) => {
      resolve(this.#call(origin, { tools: this.tools(), ...parameters, runId }, subscriber));
    });
    running.then(
      (result) => {
        this.#end(current, withResult(current.terminal ?? broken(current), result));
      },
      (error: unknown) => {
        const rejected: RunEnd = { kind: "failure", failure: failureFromRejection(error) };
        this.#end(current, current.terminal ?? rejected);
      },
    );
    return ended;
  }

  /** Stops listening to the present run. The server is not told: a lost reader is no cancel. */
  async abandon(): Promise<void> {
    const current = this.#current;
    if (current === undefined) return;
    this.#giveUp(current, current.terminal ?? { kind: "abandoned" });
    await this.agent.detachActiveRun();
  }

  /**
   * The client library checks coverage against a list that lags behind (CL-02) and judges expiry by
   * the bare clock; both were done before. The check is synchronous, so the list is away only then.
   */
  #call(origin: Origin, parameters: RunAgentParameters, subscriber?: AgentSubscriber) {
    const pending = this.agent.pendingInterrupts;
    this.agent.pendingInterrupts = [];
    try {
      return origin === "sync"
        ? this.agent.connectAgent(parameters, subscriber)
        : this.agent.runAgent(parameters, subscriber);
    } finally {
      this.agent.pendingInterrupts = pending;
    }
  }

  #giveUp(current: Track, end: RunEnd): void {
    this.#givenUp = current.runId;
    this.#end(current, end);
    this.agent.abortRun();
    void this.agent.detachActiveRun();
  }

  #end(current: Track, end: RunEnd): void {
    if (current.ended) return;
    current.ended = true;
    clearTimeout(current.timer);
    clearTimeout(current.liveTimer);
    if (this.#current === current) this.#current = undefined;
    for (const listener of this.#listeners) listener.onEnd?.(current.origin, end, current.runId);
    current.finish(end);
  }

  #subscriber(): AgentSubscriber {
    return {
      onEvent: ({ event, input }) => {
        this.#onEvent(this.#trackOf(input), event);
      },
      onRunFailed: ({ error, input }) => {
        const current = this.#trackOf(input);
        if (current === undefined) return;
        current.terminal = { kind: "failure", failure: failureFromRejection(error) };
      },
      onRunFinalized: ({ input }) => {
        const current = this.#trackOf(input);
        if (current !== undefined && !current.ours) {
          this.#end(current, current.terminal ?? broken(current));
        }
      },
    };
  }

  /** All is read here, since who stops an event here keeps it from handlers of its own kind. */
  #onEvent(current: Track | undefined, event: BaseEvent): void {
    if (current === undefined) return;
    clearTimeout(current.timer);
    current.events += 1;
    if (event.type === EventType.RUN_STARTED) {
      current.terminal = null;
      if (event.timestamp !== undefined) this.#onTime?.(event.timestamp);
      const { input } = event as RunStartedEvent;
      if ((input?.resume ?? []).length > 0) current.asked = null;
      if (current.started) return;
      current.started = true;
      for (const it of this.#listeners) it.onStarted?.(current.origin, current.runId);
    } else if (event.type === EventType.RUN_FINISHED) {
      const finished = event as RunFinishedEvent;
      const end = unanswered(current, finished.runId, endOf(finished, current.legacy));
      current.terminal = end;
      for (const it of this.#listeners) it.onOutcome?.(current.origin, end);
    } else if (event.type === EventType.RUN_ERROR) {
      current.terminal = { kind: "failure", failure: failureFromEvent(event as RunErrorEvent) };
    } else {
      const custom = event as CustomEvent;
      if (event.type === EventType.CUSTOM && custom.name === LEGACY_EVENT) {
        current.legacy = readLegacy(custom.value, current.runId);
      }
      if (!QUIET[current.origin].has(event.type)) this.#progress(current);
      else if (current.origin === "sync" && SNAPSHOTS.has(event.type)) this.#expectEnd(current);
    }
  }

  /**
   * A thread at rest is told of at one go: a look that stalls after a snapshot has probably found a
   * live run, or its line is slow.
   */
  #expectEnd(current: Track): void {
    clearTimeout(current.liveTimer);
    current.liveTimer = setTimeout(() => {
      if (current.terminal !== null || current.progressed) return;
      for (const it of this.#listeners) it.onStalled?.();
    }, END_WITHIN_MS);
  }

  #progress(current: Track): void {
    if (current.progressed || current.ended) return;
    current.progressed = true;
    for (const it of this.#listeners) it.onProgress?.(current.origin);
  }

  /** The track of a run; one that was not started here gets its own, one given up has none. */
  #trackOf(input: RunAgentInput): Track | undefined {
    if (this.#current?.runId === input.runId) return this.#current;
    if (this.#current !== undefined || input.runId === this.#givenUp) return undefined;
    if (!this.agent.isRunning) return undefined;
    const origin: Origin = (input.resume ?? []).length > 0 ? "submit" : "run";
    this.#current = track(input.runId, origin, false, () => undefined);
    return this.#current;
  }
}

function track(runId: string, origin: Origin, ours: boolean, finish: (end: RunEnd) => void): Track {
  return {
    runId,
    origin,
    ours,
    events: 0,
    started: false,
    progressed: false,
    terminal: null,
    asked: null,
    legacy: null,
    ended: false,
    finish,
  };
}

/** Reads `RUN_FINISHED`. The outcome wins over a custom event of the same run (F3, LG-11). */
function endOf({ outcome, metadata }: RunFinishedEvent, legacy: LegacyQuestion | null): RunEnd {
  if (outcome?.type === "interrupt") {
    const interrupts = outcome.interrupts.map(withAllDigits);
    const problem = failureFromMetadata(metadata);
    return { kind: "interrupt", interrupts, held: heldOf(metadata), problem, legacy: null };
  }
  const kind = outcome?.type ?? "success";
  if (kind === "success" && legacy !== null) {
    const interrupts = [legacy.interrupt];
    return { kind: "interrupt", interrupts, held: [], problem: null, legacy };
  }
  if (kind === "cancelled") return { kind };
  return { kind, problem: failureFromMetadata(metadata) };
}

function heldOf(metadata: unknown): readonly Interrupt[] {
  const held = asRecord(asRecord(metadata)?.sayso)?.held;
  return Array.isArray(held) ? held.flatMap((item) => readInterrupt(item) ?? []) : [];
}

/**
 * Only a run that carries an answer retires what the requested run asked: a further run in the
 * same body does not, however it ends (O7). Runs of the past that come before it are told in order,
 * and the last one counts (LC-11), as in a look at a thread.
 */
function unanswered(current: Track, runId: string, end: RunEnd): RunEnd {
  if (end.kind !== "interrupt") return current.asked ?? end;
  if (current.origin !== "sync" && runId === current.runId) current.asked = end;
  return end;
}

function broken(current: Track): RunEnd {
  return { kind: "failure", failure: truncated(current.events) };
}

function withResult(end: RunEnd, result: RunAgentResult): RunEnd {
  return end.kind === "failure" || end.kind === "abandoned" ? end : { ...end, result };
}
