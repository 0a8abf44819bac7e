import type { Interrupt } from "@ag-ui/client";
import { isExpired } from "./expiry.js";
import { equalJson } from "./json.js";
import { initialState, type Action, type MachineState, type Status } from "./machineState.js";
import type { Batch, Closed, Ending, Failure } from "./types.js";

/** Pure and total: an action that does not fit the state returns the state itself. */
export function reduce(state: MachineState, action: Action): MachineState {
  switch (action.type) {
    case "started":
      return started(state, action);
    case "submitted":
      if (!canSubmit(state, action.now)) return state;
      return { ...state, status: "submitting", failure: null, errors: {}, sent: state.answers };
    case "accepted":
      return state.status === "submitting" ? accepted(state, action.now) : state;
    case "interrupted":
      return interrupted(state, action);
    case "finished":
      return finished(state, action);
    case "failed":
      return failed(state, action);
    case "abandoned":
      return state.status === "running" ? { ...state, status: "idle", inFlight: [] } : state;
    case "answered":
      return answered(state, action);
    case "objected":
      if (!state.interrupts.some((one) => one.id === action.id)) return state;
      return { ...state, errors: { ...state.errors, [action.id]: action.problems } };
    case "withdrawn": {
      if (!isAnswerable(state) || !(action.id in state.answers)) return state;
      return resting({ ...state, answers: without(state.answers, action.id) }, action.now);
    }
    case "recalled":
      return recalled(state, action);
    case "told":
      return told(state, action.closed);
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

/** Whether every open interrupt has an answer that may be sent at `now` (CR-3, EX-02). */
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

/** Whether answers can be given or changed at all. */
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
  const interrupt = state.interrupts.find((one) => one.id === id);
  if (interrupt === undefined || !isAnswerable(state)) return state;
  if (answer.status === "resolved" && isPast(state, interrupt, now)) return resting(state, now);
  return resting(
    {
      ...state,
      answers: { ...state.answers, [id]: answer },
      errors: without(state.errors, id),
    },
    now,
  );
}

/** Only what is open, has no answer and may still be answered takes a kept one. */
function recalled(
  state: MachineState,
  { answers, now }: Extract<Action, { type: "recalled" }>,
): MachineState {
  if (!isAnswerable(state)) return state;
  const fit = state.interrupts.filter((one) => {
    const answer = answers[one.id];
    if (answer === undefined || state.answers[one.id] !== undefined) return false;
    return answer.status === "cancelled" || !isPast(state, one, now);
  });
  const given = pick(answers, new Set(fit.map((one) => one.id)));
  if (fit.length === 0) return state;
  return resting({ ...state, answers: { ...state.answers, ...given } }, now);
}

/** How a question ended, where we only saw that it was gone. */
function told(state: MachineState, closed: Closed): MachineState {
  const before = state.closed.find((one) => one.interrupt.id === closed.interrupt.id);
  if (before === undefined || before.ending === "answered") return state;
  const known = { ...closed, interrupt: before.interrupt, closedAt: before.closedAt };
  const all = state.closed.map((one) => (one === before ? known : one));
  return { ...state, closed: all };
}

/** A look at the server that finds a live run finds our questions answered, too. */
function started(
  state: MachineState,
  { origin, now }: Extract<Action, { type: "started" }>,
): MachineState {
  if (state.status === "submitting") return state;
  if (state.interrupts.length === 0) return { ...state, status: "running", failure: null };
  if (origin !== "sync") return state;
  return {
    ...withoutOpen(state),
    status: "running",
    failure: null,
    closed: merge(state.closed, state.interrupts.map(closeUnseen(state, now))),
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
  const held = new Map([...state.interrupts, ...state.inFlight].map((one) => [one.id, one]));
  const sameQuestion = (one: Interrupt) => {
    const before = held.get(one.id);
    return before !== undefined && origin === "sync" && equalJson(before, one);
  };
  const kept = new Set(next.filter(sameQuestion).map((one) => one.id));
  const known = new Set(next.map((one) => one.id));
  const gone = state.interrupts.filter((one) => !known.has(one.id));
  const fresh = next.filter((one) => !kept.has(one.id));
  const asked = { ...state.asked };
  for (const one of fresh) asked[one.id] = (asked[one.id] ?? 0) + 1;
  return resting(
    {
      ...state,
      status: "awaiting",
      interrupts: next,
      answers: pick(state.answers, kept),
      errors: { ...pick(state.errors, kept), ...pick(action.problem?.problems ?? {}, known) },
      sent: pick(state.sent, kept),
      failure: action.problem ?? (kept.size > 0 ? state.failure : null),
      inFlight: [],
      closed: merge(
        state.closed.filter((one) => !known.has(one.interrupt.id)),
        gone.map(origin === "submit" ? close(state, "answered", now) : closeUnseen(state, now)),
      ),
      batches: addBatch(state.batches, next, action.anchor),
      asked,
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
  const closed = state.interrupts.map(how);
  const lost = closed.some((one) => one.ending !== "answered" && one.ending !== "stopped");
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
    const told = state.status === "running" || failure.kind === "agent";
    return told && state.interrupts.length === 0 ? { ...state, status: "failed", failure } : state;
  }
  const open = state.inFlight.length > 0 ? state.inFlight : state.interrupts;
  const restored: MachineState = {
    ...state,
    interrupts: open,
    inFlight: [],
    closed: state.closed.filter((one) => !open.some((it) => it.id === one.interrupt.id)),
    status: "failed",
    failure,
    errors: { ...state.errors, ...failure.problems },
    sent: failure.kind === "refused" ? {} : state.sent,
  };
  if (open.length === 0) return restored;
  if (failure.code === "already_resolved" || failure.code === "unknown_interrupt") {
    return lose(restored, failure, now);
  }
  if (failure.code === "interrupt_expired") {
    const expired = Object.keys(failure.named).filter((id) => open.some((one) => one.id === id));
    return { ...resting(restored, now), status: "expired", expired: union(state.expired, expired) };
  }
  return resting(restored, now);
}

/** The refusal says that some of what we hold is not open any more; the rest stays as it is. */
function lose(state: MachineState, failure: Failure, now: number): MachineState {
  const names = Object.keys(failure.named);
  const lost = state.interrupts.filter((one) => names.length === 0 || names.includes(one.id));
  const ending: Ending = failure.code === "already_resolved" ? "elsewhere" : "superseded";
  const closed = lost.map((one) => ({
    ...close(state, ending, now)(one),
    ...failure.named[one.id],
  }));
  const left = state.interrupts.filter((one) => !lost.includes(one));
  const ids = new Set(left.map((one) => one.id));
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
  const ids = new Set(state.interrupts.map((one) => one.id));
  const past = state.interrupts.filter((one) => isExpired(one, now)).map((one) => one.id);
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
    const ending = ours ? "answered" : isExpired(interrupt, now) ? "lapsed" : "elsewhere";
    return close(state, ending, now)(interrupt);
  };
}

function withoutOpen(state: MachineState): MachineState {
  return { ...state, interrupts: [], answers: {}, errors: {}, expired: [], sent: {}, inFlight: [] };
}

function addBatch(
  batches: readonly Batch[],
  interrupts: readonly Interrupt[],
  anchor: string | null,
): readonly Batch[] {
  const known = new Set(batches.flatMap((batch) => batch.ids));
  const ids = interrupts.map((one) => one.id).filter((id) => !known.has(id));
  const [id] = ids;
  return id === undefined ? batches : [...batches, { id, anchor, ids }];
}

/** Interrupts with an id given twice are shown once: one answer covers both (OB-13). */
function unique(interrupts: readonly Interrupt[]): readonly Interrupt[] {
  return [...new Map(interrupts.map((one) => [one.id, one])).values()];
}

function merge(before: readonly Closed[], added: readonly Closed[]): readonly Closed[] {
  if (added.length === 0) return before;
  const ids = new Set(added.map((one) => one.interrupt.id));
  return [...before.filter((one) => !ids.has(one.interrupt.id)), ...added];
}

function union(left: readonly string[], right: readonly string[]): readonly string[] {
  return [...new Set([...left, ...right])];
}

function pick<T>(from: Readonly<Record<string, T>>, ids: ReadonlySet<string>): Record<string, T> {
  return Object.fromEntries(Object.entries(from).filter(([id]) => ids.has(id)));
}

function without<T>(from: Readonly<Record<string, T>>, id: string): Record<string, T> {
  return Object.fromEntries(Object.entries(from).filter(([key]) => key !== id));
}
