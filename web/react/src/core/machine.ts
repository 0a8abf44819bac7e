import type { Interrupt } from "@ag-ui/client";
import { isExpired } from "./expiry.js";
import { equalJson, mapOf } from "./json.js";
import { asAsked, mayAnswer } from "./rights.js";
import type { Answer, Answers, Batch, Closed, Ending, Failure, Problem } from "./types.js";

/**
 * Where a thread stands with its person.
 *
 * - `idle`: nothing open, nothing running
 * - `running`: a run is going on (also a resumed one, once the server has begun to act on it)
 * - `awaiting`: questions are open
 * - `submitting`: the answers are on their way and nothing came back yet
 * - `failed`: the last run or submission failed; open questions and answers are kept
 * - `expired`: an open question can no longer be answered, only cancelled
 * - `stale`: what was open here has been settled without us
 */
export type Status =
  "idle" | "running" | "awaiting" | "submitting" | "failed" | "expired" | "stale";

/** The code of a refusal because a question has changed since it was shown: its answer is kept. */
export const OUT_OF_DATE = "out_of_date";

/** The state of the machine. Immutable: every action makes a new value or returns the same one. */
export interface MachineState {
  readonly threadId: string;
  readonly status: Status;
  /** The open interrupts, in the order in which they were asked. */
  readonly interrupts: readonly Interrupt[];
  /** Asked with them, answered at the server, and kept there until the rest is answered, too. */
  readonly held: readonly Interrupt[];
  readonly answers: Answers;
  readonly errors: Readonly<Record<string, readonly Problem[]>>;
  /** Ids of open interrupts past answering. */
  readonly expired: readonly string[];
  readonly failure: Failure | null;
  readonly closed: readonly Closed[];
  readonly batches: readonly Batch[];
  /** How often an id was asked; a form starts afresh when this grows (CL-08). */
  readonly asked: Readonly<Record<string, number>>;
  /** The answers as last sent, until they are changed or refused. */
  readonly sent: Answers;
  /** Questions that the server has begun to act on the answers of, as far as one sees yet. */
  readonly inFlight: readonly Interrupt[];
}

/** How a run came about: a message, a submission, or a look at what the server has. */
export type Origin = "run" | "submit" | "sync";

export type Action =
  | { readonly type: "started"; readonly origin: Origin; readonly now: number }
  | { readonly type: "submitted"; readonly now: number }
  | { readonly type: "accepted"; readonly now: number }
  /** Some answers are on their way to be kept at the server. */
  | { readonly type: "holding" }
  /** They are kept there, and how it stands now was asked. */
  | { readonly type: "held"; readonly ids: readonly string[] }
  | {
      readonly type: "interrupted";
      readonly origin: Origin;
      readonly interrupts: readonly Interrupt[];
      readonly held?: readonly Interrupt[];
      readonly anchor: string | null;
      /** Why the server asks again instead of going on. */
      readonly problem: Failure | null;
      readonly now: number;
    }
  | {
      readonly type: "finished";
      readonly origin: Origin;
      /** The turn ended because it was stopped. */
      readonly cancelled?: boolean;
      /** Why the thread's last run failed, where a look was told. */
      readonly problem?: Failure | null;
      readonly now: number;
    }
  | {
      readonly type: "failed";
      readonly origin: Origin;
      readonly failure: Failure;
      readonly now: number;
    }
  | { readonly type: "abandoned" }
  | {
      readonly type: "answered";
      readonly id: string;
      readonly answer: Answer;
      readonly now: number;
    }
  | { readonly type: "rejected"; readonly id: string; readonly problems: readonly Problem[] }
  | { readonly type: "withdrawn"; readonly id: string; readonly now: number }
  /** Answers that were given before a reload; they are offered again, not sent. */
  | { readonly type: "restored"; readonly answers: Answers; readonly now: number }
  /** The server said how a question ended that was gone when we looked. */
  | { readonly type: "outcomeKnown"; readonly closed: Closed }
  | { readonly type: "ticked"; readonly now: number }
  | { readonly type: "dismissed" }
  | { readonly type: "reset"; readonly threadId: string };

/** A thread of which nothing is known yet. */
export function initialState(threadId: string): MachineState {
  return {
    threadId,
    status: "idle",
    interrupts: [],
    held: [],
    answers: mapOf(),
    errors: mapOf(),
    expired: [],
    failure: null,
    closed: [],
    batches: [],
    asked: mapOf(),
    sent: mapOf(),
    inFlight: [],
  };
}

/** Pure and total: an action that does not fit the state returns the state itself. */
export function reduce(state: MachineState, action: Action): MachineState {
  switch (action.type) {
    case "started":
      return started(state, action);
    case "submitted":
      if (!canSubmit(state, action.now)) return state;
      return {
        ...state,
        status: "submitting",
        failure: null,
        errors: mapOf(),
        sent: state.answers,
      };
    case "accepted":
      return state.status === "submitting" ? accepted(state, action.now) : state;
    case "holding":
      if (!isAnswerable(state)) return state;
      return { ...state, status: "submitting", failure: null, errors: mapOf() };
    case "held":
      return {
        ...state,
        status: state.status === "submitting" ? "awaiting" : state.status,
        answers: action.ids.reduce((left, id) => without(left, id), state.answers),
      };
    case "interrupted":
      return interrupted(state, action);
    case "finished":
      return finished(state, action);
    case "failed":
      return failed(state, action);
    case "abandoned":
      // What was answered is kept: the next look may find the question still open.
      return state.status === "running" ? { ...state, status: "idle" } : state;
    case "answered":
      return answered(state, action);
    case "rejected":
      if (!state.interrupts.some((interrupt) => interrupt.id === action.id)) return state;
      return { ...state, errors: mapOf(state.errors, { [action.id]: action.problems }) };
    case "withdrawn": {
      if (!isAnswerable(state) || !(action.id in state.answers)) return state;
      return resting({ ...state, answers: without(state.answers, action.id) }, action.now);
    }
    case "restored":
      return restored(state, action);
    case "outcomeKnown":
      return outcomeKnown(state, action.closed);
    case "ticked":
      return isAnswerable(state) ? resting(state, action.now) : state;
    case "dismissed":
      if (state.interrupts.length > 0) return state;
      return state.status === "stale" || state.status === "failed"
        ? { ...state, status: "idle", failure: null }
        : state;
    case "reset":
      return initialState(action.threadId);
    default:
      return action satisfies never;
  }
}

/** True if every open interrupt has an answer that may be sent at `now` (CR-3, EX-02). */
export function canSubmit(state: MachineState, now: number): boolean {
  return (
    isAnswerable(state) &&
    state.interrupts.length > 0 &&
    state.interrupts.every((interrupt) => {
      const answer = state.answers[interrupt.id];
      if (answer === undefined) return false;
      return answer.status === "cancelled" || !isPast(state, interrupt, now);
    })
  );
}

/**
 * The ids of the answers that can be sent although others are still to decide: what this reader may
 * answer is answered. Empty when everything can be sent, or nothing.
 */
export function holdable(state: MachineState, now: number): readonly string[] {
  if (!isAnswerable(state) || canSubmit(state, now)) return [];
  const mine = state.interrupts.filter(
    (interrupt) => interrupt.id in state.answers || mayAnswer(interrupt),
  );
  const fit = mine.every((interrupt) => {
    const answer = state.answers[interrupt.id];
    return (
      answer?.status === "cancelled" || (answer !== undefined && !isPast(state, interrupt, now))
    );
  });
  return fit ? mine.map((interrupt) => interrupt.id) : [];
}

/** True if answers can be given or changed at all. */
export function isAnswerable(state: MachineState): boolean {
  return state.interrupts.length > 0 && state.status !== "submitting" && state.status !== "running";
}

/** Past answering, by our clock or by the server's word. */
function isPast(state: MachineState, interrupt: Interrupt, now: number): boolean {
  return isExpired(interrupt, now) || state.expired.includes(interrupt.id);
}

function answered(
  state: MachineState,
  { id, answer, now }: Extract<Action, { type: "answered" }>,
): MachineState {
  const interrupt = state.interrupts.find((item) => item.id === id);
  if (interrupt === undefined || !isAnswerable(state)) return state;
  if (answer.status === "resolved" && isPast(state, interrupt, now)) return resting(state, now);
  return resting(
    {
      ...state,
      answers: mapOf(state.answers, { [id]: answer }),
      errors: without(state.errors, id),
    },
    now,
  );
}

/** Only what is open, has no answer and may still be answered takes a kept one. */
function restored(
  state: MachineState,
  { answers, now }: Extract<Action, { type: "restored" }>,
): MachineState {
  if (!isAnswerable(state)) return state;
  const fit = state.interrupts.filter((interrupt) => {
    const answer = answers[interrupt.id];
    if (answer === undefined || state.answers[interrupt.id] !== undefined) return false;
    return answer.status === "cancelled" || !isPast(state, interrupt, now);
  });
  const input = pick(answers, new Set(fit.map((interrupt) => interrupt.id)));
  if (fit.length === 0) return state;
  return resting({ ...state, answers: mapOf(state.answers, input) }, now);
}

/** How a question ended, where we only saw that it was gone. */
function outcomeKnown(state: MachineState, closed: Closed): MachineState {
  const before = state.closed.find((item) => item.interrupt.id === closed.interrupt.id);
  if (before === undefined || before.ending === "answered") return state;
  const stored = { ...closed, interrupt: before.interrupt, closedAt: before.closedAt };
  const all = state.closed.map((item) => (item === before ? stored : item));
  return { ...state, closed: all };
}

/**
 * A look at the server that finds a live run finds our questions answered, too. It may only have
 * stalled: until it has said how the thread stands, what was answered here is kept.
 */
function started(
  state: MachineState,
  { origin, now }: Extract<Action, { type: "started" }>,
): MachineState {
  if (state.status === "submitting") return state;
  if (state.interrupts.length === 0) {
    const left = origin === "run" ? withoutOpen(state) : state;
    return { ...left, status: "running", failure: null };
  }
  if (origin !== "sync") return state;
  return {
    ...withoutOpen(state),
    answers: state.answers,
    sent: state.sent,
    inFlight: state.interrupts,
    status: "running",
    failure: null,
    closed: merge(state.closed, [
      ...state.interrupts.map(closeUnseen(state, now)),
      ...state.held.map(closeUnseen(state, now)),
    ]),
  };
}

function accepted(state: MachineState, now: number): MachineState {
  const closed = state.interrupts.map(close(state, "answered", now));
  return {
    ...state,
    status: "running",
    interrupts: [],
    expired: [],
    inFlight: state.interrupts,
    closed: merge(state.closed, closed),
  };
}

function interrupted(
  state: MachineState,
  action: Extract<Action, { type: "interrupted" }>,
): MachineState {
  const { origin, now } = action;
  const next = unique(action.interrupts);
  const shelved = unique(action.held ?? []);
  const before = new Map(
    [...state.interrupts, ...state.inFlight].map((interrupt) => [interrupt.id, interrupt]),
  );
  const stays = origin === "sync" || action.problem?.code === OUT_OF_DATE;
  const sameQuestion = (interrupt: Interrupt) => {
    const stored = before.get(interrupt.id);
    return stored !== undefined && stays && equalJson(asAsked(stored), asAsked(interrupt));
  };
  const kept = new Set(next.filter(sameQuestion).map((interrupt) => interrupt.id));
  const asking = new Set(next.map((interrupt) => interrupt.id));
  const present = new Set([...next, ...shelved].map((interrupt) => interrupt.id));
  const gone = state.interrupts.filter((interrupt) => !present.has(interrupt.id));
  const goneHeld = state.held.filter((interrupt) => !present.has(interrupt.id));
  const stayed = state.interrupts.some((interrupt) => kept.has(interrupt.id));
  const fresh = next.filter((interrupt) => !kept.has(interrupt.id));
  const askedCounts = mapOf(state.asked);
  for (const entry of fresh) askedCounts[entry.id] = (askedCounts[entry.id] ?? 0) + 1;
  return resting(
    {
      ...state,
      status: "awaiting",
      interrupts: next,
      held: shelved,
      // Whoever extends a question makes it answerable again.
      expired: state.expired.filter((id) =>
        next.some((open) => open.id === id && open.expiresAt === before.get(id)?.expiresAt),
      ),
      answers: pick(state.answers, kept),
      errors: mapOf(pick(state.errors, kept), pick(action.problem?.problems ?? {}, asking)),
      sent: pick(state.sent, kept),
      failure: action.problem ?? (stayed ? state.failure : null),
      inFlight: [],
      closed: merge(
        state.closed.filter((closed) => !present.has(closed.interrupt.id)),
        [
          ...gone.map(
            origin === "submit" ? close(state, "answered", now) : closeUnseen(state, now),
          ),
          ...goneHeld.map(closeUnseen(state, now)),
        ],
      ),
      batches: addBatch(state.batches, [...next, ...shelved], action.anchor),
      asked: askedCounts,
    },
    now,
  );
}

function finished(
  state: MachineState,
  { origin, cancelled = false, problem = null, now }: Extract<Action, { type: "finished" }>,
): MachineState {
  const how =
    origin === "submit"
      ? close(state, "answered", now)
      : cancelled
        ? close(state, "stopped", now)
        : closeUnseen(state, now);
  const closed = [
    ...state.interrupts.map(how),
    ...state.held.map(cancelled ? how : closeUnseen(state, now)),
  ];
  const lost = closed
    .slice(0, state.interrupts.length)
    .some((item) => item.ending !== "answered" && item.ending !== "stopped");
  const stale = state.status === "stale" && origin === "sync";
  return {
    ...withoutOpen(state),
    status: problem !== null ? "failed" : lost || stale ? "stale" : "idle",
    failure: problem,
    closed: merge(state.closed, closed),
  };
}

function failed(
  state: MachineState,
  { origin, failure, now }: Extract<Action, { type: "failed" }>,
): MachineState {
  if (origin === "sync") {
    // A look that the server ends as failed tells of the thread's last run.
    const isLastRuns = state.status === "running" || failure.kind === "agent";
    return isLastRuns && state.interrupts.length === 0
      ? { ...state, status: "failed", failure }
      : state;
  }
  // What a look found answered is not open again because a message failed.
  const sent = origin === "submit" ? state.inFlight : [];
  const open = sent.length > 0 ? sent : state.interrupts;
  const restored: MachineState = {
    ...state,
    interrupts: open,
    inFlight: origin === "submit" ? [] : state.inFlight,
    closed: state.closed.filter((closed) => !open.some((it) => it.id === closed.interrupt.id)),
    status: "failed",
    failure,
    errors: mapOf(state.errors, failure.problems),
    sent: failure.kind === "refused" ? mapOf() : state.sent,
  };
  if (open.length === 0) return restored;
  if (failure.code === "already_resolved" || failure.code === "unknown_interrupt") {
    return lose(restored, failure, now);
  }
  if (failure.code === "interrupt_expired") {
    const expired = Object.keys(failure.named).filter((id) =>
      open.some((interrupt) => interrupt.id === id),
    );
    return { ...resting(restored, now), status: "expired", expired: union(state.expired, expired) };
  }
  return resting(restored, now);
}

/** The refusal says that some of what we hold is not open any more; the rest stays as it is. */
function lose(state: MachineState, failure: Failure, now: number): MachineState {
  const names = Object.keys(failure.named);
  const lost = state.interrupts.filter(
    (interrupt) => names.length === 0 || names.includes(interrupt.id),
  );
  const ending: Ending = failure.code === "already_resolved" ? "answeredElsewhere" : "superseded";
  const closed = lost.map((interrupt) => ({
    ...close(state, ending, now)(interrupt),
    ...(Object.hasOwn(failure.named, interrupt.id) && failure.named[interrupt.id]),
  }));
  const left = state.interrupts.filter((interrupt) => !lost.includes(interrupt));
  const ids = new Set(left.map((interrupt) => interrupt.id));
  const next: MachineState = {
    ...state,
    interrupts: left,
    answers: pick(state.answers, ids),
    errors: pick(state.errors, ids),
    sent: pick(state.sent, ids),
    expired: state.expired.filter((id) => ids.has(id)),
    closed: merge(state.closed, closed),
  };
  return left.length === 0 ? { ...next, status: "stale" } : resting(next, now);
}

/** The status of a state whose questions wait for their person, with expiry brought up to date. */
function resting(state: MachineState, now: number): MachineState {
  const ids = new Set(state.interrupts.map((interrupt) => interrupt.id));
  const past = state.interrupts
    .filter((interrupt) => isExpired(interrupt, now))
    .map((interrupt) => interrupt.id);
  const expired = union(
    state.expired.filter((id) => ids.has(id)),
    past,
  );
  const stuck = expired.some((id) => state.answers[id]?.status !== "cancelled");
  const status: Status = stuck ? "expired" : state.failure !== null ? "failed" : "awaiting";
  if (status === state.status && equalJson(expired, state.expired)) return state;
  return { ...state, status, expired };
}

function close(state: MachineState, ending: Ending, now: number) {
  return (interrupt: Interrupt): Closed => ({
    interrupt,
    ending,
    answer: ending === "answered" ? (state.answers[interrupt.id] ?? null) : null,
    closedAt: now,
  });
}

/** An interrupt that was gone when we looked: ours if our last word was sent as it stands. */
function closeUnseen(state: MachineState, now: number) {
  return (interrupt: Interrupt): Closed => {
    const answer = state.answers[interrupt.id];
    const ours = answer !== undefined && equalJson(answer, state.sent[interrupt.id]);
    const ending = ours ? "answered" : isExpired(interrupt, now) ? "expired" : "answeredElsewhere";
    return close(state, ending, now)(interrupt);
  };
}

function withoutOpen(state: MachineState): MachineState {
  return {
    ...state,
    interrupts: [],
    held: [],
    answers: mapOf(),
    errors: mapOf(),
    expired: [],
    sent: mapOf(),
    inFlight: [],
  };
}

function addBatch(
  batches: readonly Batch[],
  interrupts: readonly Interrupt[],
  anchor: string | null,
): readonly Batch[] {
  const stored = new Set(batches.flatMap((batch) => batch.ids));
  const ids = interrupts.map((interrupt) => interrupt.id).filter((id) => !stored.has(id));
  const [id] = ids;
  return id === undefined ? batches : [...batches, { id, anchor, ids }];
}

/** Interrupts with an id given twice are shown once: one answer covers both (OB-13). */
function unique(interrupts: readonly Interrupt[]): readonly Interrupt[] {
  return [...new Map(interrupts.map((interrupt) => [interrupt.id, interrupt])).values()];
}

function merge(before: readonly Closed[], added: readonly Closed[]): readonly Closed[] {
  if (added.length === 0) return before;
  const ids = new Set(added.map((closed) => closed.interrupt.id));
  return [...before.filter((closed) => !ids.has(closed.interrupt.id)), ...added];
}

function union(left: readonly string[], right: readonly string[]): readonly string[] {
  return [...new Set([...left, ...right])];
}

function pick<T>(from: Readonly<Record<string, T>>, ids: ReadonlySet<string>): Record<string, T> {
  return mapOf(Object.fromEntries(Object.entries(from).filter(([id]) => ids.has(id))));
}

function without<T>(from: Readonly<Record<string, T>>, id: string): Record<string, T> {
  return mapOf(Object.fromEntries(Object.entries(from).filter(([key]) => key !== id)));
}
