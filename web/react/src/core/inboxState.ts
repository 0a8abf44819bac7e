import { isExpired } from "./expiry.js";
import type { InboxItem, Listed } from "./inboxItems.js";
import { asRecord, equalJson, mapOf } from "./json.js";
import { withoutMarked, withoutSecrets } from "./secrets.js";
import type { Answer, Closed, Connection, Failure, Interrupt, Problem } from "./types.js";
import type { InterruptView, Phase } from "./views.js";

/** The state of the inbox. Immutable: every change makes a new value. */
export interface InboxState {
  readonly connection: Connection;
  /** True if the list was read at least once: before, an empty one says nothing. */
  readonly known: boolean;
  /** Everything that is open, oldest first. */
  readonly items: readonly InboxItem[];
  /** True if there is more than was read. */
  readonly partial: boolean;
  /** Answers that were given here and are not settled yet. */
  readonly answers: Readonly<Record<string, Answer>>;
  /** Who had agreed to another answer than was given here, and does not any more. */
  readonly withdrawn: Readonly<Record<string, readonly string[]>>;
  readonly sending: readonly string[];
  /** Answers that are sent by themselves, and when, by the server's clock: until then undone. */
  readonly sendAt: Readonly<Record<string, number>>;
  /** Answers of a page that was left before they were sent. */
  readonly left: readonly string[];
  /** Answers from before a reload: what was under way then may have arrived or not. */
  readonly restored: readonly string[];
  readonly errors: Readonly<Record<string, readonly Problem[]>>;
  readonly failures: Readonly<Record<string, Failure>>;
  /** Questions that ended while this inbox was open, or were looked up, newest last. */
  readonly closed: Readonly<Record<string, Closed>>;
}

export const EMPTY_INBOX: InboxState = {
  connection: { status: "loading" },
  known: false,
  items: [],
  partial: false,
  answers: mapOf(),
  withdrawn: mapOf(),
  sending: [],
  sendAt: mapOf(),
  left: [],
  restored: [],
  errors: mapOf(),
  failures: mapOf(),
  closed: mapOf(),
};

const MAX_CLOSED = 200;

/** The whole list anew. What is gone from it ended without our seeing how. */
export function withList(
  state: InboxState,
  items: readonly InboxItem[],
  partial: boolean,
  now: number,
): InboxState {
  const listed = new Set(items.map((item) => item.interrupt.id));
  const gone = state.items.filter((item) => !listed.has(item.interrupt.id));
  const stored = new Map(state.items.map((item) => [item.interrupt.id, item]));
  const kept = items.map((item) => {
    const before = stored.get(item.interrupt.id);
    return before !== undefined && equalJson(before, item) ? before : item;
  });
  const next = partial
    ? state
    : gone.reduce((before, { interrupt }) => {
        const ending = isExpired(interrupt, now) ? "expired" : "answeredElsewhere";
        return withEnd(before, { interrupt, ending, answer: null, closedAt: now });
      }, state);
  return { ...next, known: true, items: kept, partial };
}

/** One interrupt as the server has it now. */
export function withListed(state: InboxState, { item, closed }: Listed): InboxState {
  if (closed !== null) return withEnd(state, closed);
  const { id } = item.interrupt;
  const position = state.items.findIndex((inboxItem) => inboxItem.interrupt.id === id);
  const items =
    position < 0
      ? inOrder([...state.items, item])
      : state.items.map((inboxItem, index) => (index === position ? item : inboxItem));
  return { ...state, items, closed: without(state.closed, [id]) };
}

/** An interrupt ended. It was us if it ended as we said. */
export function withEnd(state: InboxState, end: Closed): InboxState {
  const { id } = end.interrupt;
  const closed = state.closed[id];
  const isOurs =
    closed?.ending === "answered" &&
    isSameAnswer(end.interrupt, closed.answer, end.answer) &&
    (closed.by ?? end.by) === (end.by ?? closed.by);
  if (isOurs) {
    const { answer, result = closed.result, by = closed.by } = end;
    // As the server has it: without what was secret in it.
    const next = {
      ...closed,
      answer,
      ...(result !== undefined && { result }),
      ...(by !== undefined && { by }),
    };
    if (equalJson(next, closed)) return state;
    return { ...state, closed: mapOf(state.closed, { [id]: next }) };
  }
  const said = state.answers[id];
  const ours =
    said !== undefined && (end.answer === null || isSameAnswer(end.interrupt, said, end.answer));
  const settled: Closed =
    ours && end.ending === "answeredElsewhere" && state.sending.includes(id)
      ? { ...end, ending: "answered", answer: said }
      : end;
  const kept = Object.entries(without(state.closed, [id])).slice(1 - MAX_CLOSED);
  return {
    ...forget(state, [id]),
    items: state.items.filter((item) => item.interrupt.id !== id),
    closed: mapOf(Object.fromEntries(kept), { [id]: settled }),
  };
}

/** True if two answers are the same but for their secrets, which the server tells nobody. */
function isSameAnswer(interrupt: Interrupt, one: Answer | null, other: Answer | null): boolean {
  if (equalJson(one, other)) return true;
  if (one?.status !== "resolved" || other?.status !== "resolved") return false;
  const schema = asRecord(interrupt.responseSchema) ?? {};
  const [left, right] = [one, other].map(({ payload }) =>
    withoutSecrets(withoutMarked(payload, schema)),
  );
  return equalJson(left, right);
}

/** A thread is gone with all its questions. */
export function withoutThread(state: InboxState, threadId: string, now: number): InboxState {
  return state.items
    .filter((item) => item.threadId === threadId)
    .reduce(
      (before, { interrupt }) =>
        withEnd(before, { interrupt, ending: "superseded", answer: null, closedAt: now }),
      state,
    );
}

/** An answer given here; it is not on its way yet. */
export function withAnswer(state: InboxState, id: string, answer: Answer): InboxState {
  return { ...forget(state, [id]), answers: mapOf(state.answers, { [id]: answer }) };
}

/** An answer given here goes out by itself then, unless it is undone. */
export function withSendAt(state: InboxState, id: string, at: number): InboxState {
  return { ...state, sendAt: mapOf(state.sendAt, { [id]: at }) };
}

/** An answer that was given before the page was left, and was not sent; it does not wait any more. */
export function withLeft(state: InboxState, id: string): InboxState {
  return { ...state, sendAt: without(state.sendAt, [id]), left: [...state.left, id] };
}

/** An answer that was given before a reload. */
export function withRestored(state: InboxState, id: string): InboxState {
  return { ...state, restored: [...state.restored, id] };
}

/** Complaints about an answer given here; it stays as it was said. */
export function withProblems(
  state: InboxState,
  id: string,
  problems: readonly Problem[],
): InboxState {
  return { ...state, errors: mapOf(state.errors, { [id]: problems }) };
}

/** The answers of these interrupts are on their way. */
export function withSending(state: InboxState, ids: readonly string[]): InboxState {
  return {
    ...state,
    sending: [...new Set([...state.sending, ...ids])],
    sendAt: without(state.sendAt, ids),
    left: state.left.filter((id) => !ids.includes(id)),
    restored: state.restored.filter((id) => !ids.includes(id)),
    errors: without(state.errors, ids),
    failures: without(state.failures, ids),
  };
}

/** The server keeps these answers until the rest of their set is there. */
export function withHeld(
  state: InboxState,
  ids: readonly string[],
  withdrawn: readonly string[] = [],
): InboxState {
  const items = state.items.map((item) => {
    const answer = state.answers[item.interrupt.id];
    return ids.includes(item.interrupt.id) && answer !== undefined
      ? { ...item, held: { answer, by: null } }
      : item;
  });
  const fromEntry = Object.fromEntries(
    withdrawn.length > 0 ? ids.map((id) => [id, withdrawn]) : [],
  );
  const next = forget(state, ids);
  return { ...next, items, withdrawn: mapOf(next.withdrawn, fromEntry) };
}

/** These answers were not taken; what we say about it depends on why. */
export function withFailure(
  state: InboxState,
  ids: readonly string[],
  failure: Failure,
  now: number,
): InboxState {
  const ended = failure.code === "already_resolved" || failure.code === "unknown_interrupt";
  let next: InboxState = {
    ...state,
    sending: state.sending.filter((id) => !ids.includes(id)),
    errors: mapOf(state.errors, failure.problems),
  };
  for (const id of ids) {
    const named = failure.named[id];
    const meant = named !== undefined || Object.keys(failure.named).length === 0;
    const interrupt = state.items.find((item) => item.interrupt.id === id)?.interrupt;
    if (interrupt === undefined) {
      const closed = next.closed[id];
      // It ended as we said while ours was on its way: so somebody else had said the same.
      if (failure.code === "already_resolved" && meant && closed?.ending === "answered") {
        const theirs: Closed = { ...closed, ending: "answeredElsewhere", ...named };
        next = { ...next, closed: mapOf(next.closed, { [id]: theirs }) };
      }
      continue;
    }
    if (ended && meant) {
      const ending = failure.code === "already_resolved" ? "answeredElsewhere" : "superseded";
      next = withEnd(next, { interrupt, ending, answer: null, closedAt: now, ...named });
    } else if (failure.code === "interrupt_expired" && meant) {
      next = { ...forget(next, [id]), items: next.items.map(lapse(id)) };
    } else if ((failure.problems[id] ?? []).length === 0) {
      next = { ...next, failures: mapOf(next.failures, { [id]: failure }) };
    }
  }
  return next;
}

/** Drops what was said here about these interrupts. */
export function forget(state: InboxState, ids: readonly string[]): InboxState {
  return {
    ...state,
    answers: without(state.answers, ids),
    errors: without(state.errors, ids),
    failures: without(state.failures, ids),
    withdrawn: without(state.withdrawn, ids),
    sendAt: without(state.sendAt, ids),
    left: state.left.filter((id) => !ids.includes(id)),
    restored: state.restored.filter((id) => !ids.includes(id)),
    sending: state.sending.filter((id) => !ids.includes(id)),
  };
}

/** One interrupt with everything its card needs; null when the inbox does not know it. */
export function inboxView(state: InboxState, id: string, now: number): InterruptView | null {
  const item = state.items.find((inboxItem) => inboxItem.interrupt.id === id);
  const closed = state.closed[id] ?? null;
  if (item !== undefined) {
    const answer = state.answers[id] ?? item.held?.answer ?? null;
    const problems = state.errors[id] ?? [];
    const phase = phaseOf(state, item, answer, now);
    const { interrupt, createdAt: askedAt } = item;
    const view = { interrupt, phase, answer, problems, closed: null, asked: 1, askedAt };
    const [withdrawn, sendAt] = [state.withdrawn[id], state.sendAt[id]];
    return {
      ...view,
      ...(withdrawn !== undefined && { withdrawn }),
      ...(sendAt !== undefined && { sendAt }),
    };
  }
  if (closed === null) return null;
  const { interrupt, answer } = closed;
  return { interrupt, phase: "closed", answer, problems: [], closed, asked: 1 };
}

function phaseOf(state: InboxState, item: InboxItem, answer: Answer | null, now: number): Phase {
  const { id } = item.interrupt;
  if (state.sending.includes(id)) return "sending";
  const past = item.lapsed || isExpired(item.interrupt, now);
  if (past && answer?.status !== "cancelled") return "expired";
  return answer === null || (state.errors[id] ?? []).length > 0 ? "open" : "answered";
}

function lapse(id: string) {
  return (inboxItem: InboxItem): InboxItem =>
    inboxItem.interrupt.id === id ? { ...inboxItem, held: null, lapsed: true } : inboxItem;
}

function inOrder(items: readonly InboxItem[]): readonly InboxItem[] {
  return [...items].sort((a, b) => a.createdAt - b.createdAt);
}

function without<T>(
  from: Readonly<Record<string, T>>,
  ids: readonly string[],
): Readonly<Record<string, T>> {
  if (!ids.some((id) => id in from)) return from;
  return mapOf(Object.fromEntries(Object.entries(from).filter(([id]) => !ids.includes(id))));
}
