import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  canSubmit,
  initialState,
  reduce,
  type Action,
  type Failure,
  type Interrupt,
  type MachineState,
} from "../../src/core/index.js";

const NOW = Date.parse("2026-01-01T00:00:00Z");
const LATER = NOW + 60_000;

const ask = (id: string, more: Partial<Interrupt> = {}): Interrupt => ({
  id,
  reason: "confirmation",
  ...more,
});
const yes = { status: "resolved", payload: true } as const;
const refusal = (code: string, named: Failure["named"] = {}): Failure => ({
  kind: "refused",
  message: code,
  code,
  problems: {},
  named,
});
const broken: Failure = { kind: "agent", message: "no", code: "x", problems: {}, named: {} };
const network: Failure = { kind: "network", message: "gone", code: null, problems: {}, named: {} };

function after(...actions: Action[]): MachineState {
  return actions.reduce(reduce, initialState("t"));
}

const interrupted = (...interrupts: Interrupt[]): Action => ({
  type: "interrupted",
  origin: "run",
  interrupts,
  anchor: null,
  problem: null,
  now: NOW,
});
const answered = (id: string): Action => ({ type: "answered", id, answer: yes, now: NOW });
const submitted: Action = { type: "submitted", now: NOW };
const failed = (failure: Failure): Action => ({
  type: "failed",
  origin: "submit",
  failure,
  now: NOW,
});

describe("a question that is extended", () => {
  const soon = ask("a", { expiresAt: new Date(NOW + 1_000).toISOString() });
  const later = ask("a", { expiresAt: new Date(NOW + 9_000).toISOString() });
  const look = (item: Interrupt): Action => ({
    ...(interrupted(item) as Extract<Action, { type: "interrupted" }>),
    origin: "sync",
  });

  it("keeps the answer that was given and not sent", () => {
    const state = after(interrupted(soon, ask("b")), answered("a"), {
      ...(interrupted(later, ask("b")) as Extract<Action, { type: "interrupted" }>),
      origin: "sync",
    });
    expect(Object.keys(state.answers)).toEqual(["a"]);
    expect(state.asked.a).toBe(1);
  });

  it("can be answered again where it was seen to expire, and only then", () => {
    const expired = after(interrupted(soon), { type: "ticked", now: NOW + 2_000 });
    expect(expired.status).toBe("expired");
    expect(reduce(expired, look(soon)).expired).toEqual(["a"]);
    const state = reduce(expired, look(later));
    expect([state.status, state.expired]).toEqual(["awaiting", []]);
    expect(Object.keys(reduce(state, answered("a")).answers)).toEqual(["a"]);
  });
});

describe("transitions", () => {
  const asking = interrupted(ask("a"), ask("b"));
  const table: [string, MachineState, Action, Partial<MachineState>][] = [
    ["a run begins", after(), { type: "started", origin: "run", now: NOW }, { status: "running" }],
    ["a run asks", after(), asking, { status: "awaiting" }],
    ["one of two is answered", after(asking), answered("a"), { status: "awaiting" }],
    ["a part is not sent", after(asking, answered("a")), submitted, { status: "awaiting" }],
    [
      "all is sent",
      after(asking, answered("a"), answered("b")),
      submitted,
      { status: "submitting" },
    ],
    [
      "the server acts on it",
      after(asking, answered("a"), answered("b"), submitted),
      { type: "accepted", now: NOW },
      { status: "running", interrupts: [] },
    ],
    [
      "the submission fails",
      after(asking, answered("a"), answered("b"), submitted),
      failed(network),
      { status: "failed", failure: network, answers: { a: yes, b: yes } },
    ],
    [
      "it fails after the server began to act",
      after(asking, answered("a"), answered("b"), submitted, { type: "accepted", now: NOW }),
      failed(network),
      { status: "failed", answers: { a: yes, b: yes }, closed: [] },
    ],
    [
      "an answer is taken back after a failure",
      after(interrupted(ask("a")), answered("a"), submitted, failed(network)),
      { type: "withdrawn", id: "a", now: NOW },
      { status: "failed", answers: {} },
    ],
    [
      "one of two was answered by somebody else",
      after(asking, answered("a"), answered("b"), submitted),
      failed(refusal("already_resolved", { a: { by: "kim" } })),
      { status: "failed", answers: { b: yes } },
    ],
    [
      "all were answered by somebody else",
      after(interrupted(ask("a")), answered("a"), submitted),
      failed(refusal("already_resolved")),
      { status: "stale", interrupts: [] },
    ],
    [
      "the server does not know the question",
      after(interrupted(ask("a")), answered("a"), submitted),
      failed(refusal("unknown_interrupt")),
      { status: "stale" },
    ],
    [
      "time runs out",
      after(interrupted(ask("a", { expiresAt: "2026-01-01T00:00:30Z" }))),
      { type: "ticked", now: LATER },
      { status: "expired", expired: ["a"] },
    ],
    [
      "what ended elsewhere is put away",
      after(interrupted(ask("a")), { type: "finished", origin: "sync", now: NOW }),
      { type: "dismissed" },
      { status: "idle" },
    ],
    [
      "a message run fails",
      after({ type: "started", origin: "run", now: NOW }),
      { type: "failed", origin: "run", failure: network, now: NOW },
      { status: "failed" },
    ],
    [
      "a look fails",
      after(interrupted(ask("a"))),
      { type: "failed", origin: "sync", failure: network, now: NOW },
      { status: "awaiting", failure: null },
    ],
    [
      "a look is told what the last run failed of",
      after(),
      { type: "finished", origin: "sync", problem: broken, now: NOW },
      { status: "failed", failure: broken },
    ],
    [
      "a look finds a turn that cannot go on",
      after(),
      { type: "failed", origin: "sync", failure: broken, now: NOW },
      { status: "failed", failure: broken },
    ],
    [
      "a later look finds that all is well",
      after({ type: "finished", origin: "sync", problem: broken, now: NOW }),
      { type: "finished", origin: "sync", now: NOW },
      { status: "idle", failure: null },
    ],
    [
      "another thread is opened",
      after(interrupted(ask("a"))),
      { type: "reset", threadId: "u" },
      { status: "idle", threadId: "u", interrupts: [] },
    ],
  ];
  it.each(table)("%s", (_name, state, action, expected) => {
    expect(reduce(state, action)).toMatchObject(expected);
  });

  it("[OB-13] shows an id that came twice once", () => {
    expect(after(interrupted(ask("a"), ask("a"))).interrupts).toHaveLength(1);
  });

  it("[Q4] a look that finds the same questions changes nothing", () => {
    const before = after(interrupted(ask("a")), answered("a"));
    const look: Action = { ...interrupted(ask("a")), origin: "sync" } as Action;
    expect(reduce(before, look)).toEqual(before);
  });

  it("keeps an answer while a look is given up before it has said how the thread stands", () => {
    const look = { ...interrupted(ask("a")), origin: "sync" } as Action;
    const begins: Action = { type: "started", origin: "sync", now: NOW };
    const given = after(interrupted(ask("a")), answered("a"), begins, { type: "abandoned" });
    expect(given).toMatchObject({ status: "idle", interrupts: [] });
    expect(reduce(given, look)).toMatchObject({ status: "awaiting", answers: { a: yes } });
    const anew = reduce(given, { type: "started", origin: "run", now: NOW });
    expect(anew).toMatchObject({ status: "running", answers: {}, inFlight: [] });
  });

  it("a message that fails opens no question that was decided elsewhere", () => {
    const look: Action = { type: "started", origin: "sync", now: NOW };
    const gone = after(interrupted(ask("a")), answered("a"), look, { type: "abandoned" });
    const state = reduce(gone, { type: "failed", origin: "run", failure: network, now: NOW });
    expect(state).toMatchObject({
      status: "failed",
      interrupts: [],
      closed: [{ interrupt: { id: "a" }, ending: "answeredElsewhere" }],
    });
    const open = { ...interrupted(ask("a")), origin: "sync" } as Action;
    expect(reduce(state, open)).toMatchObject({ interrupts: [{ id: "a" }], answers: { a: yes } });
  });

  it("[CL-08] a look that finds another wording drops the answer to the old one", () => {
    const before = after(interrupted(ask("a", { message: "old" })), answered("a"));
    const look = { ...interrupted(ask("a", { message: "new" })), origin: "sync" } as Action;
    expect(reduce(before, look)).toMatchObject({ answers: {}, asked: { a: 2 } });
  });

  it("says why the server asks again instead of going on", () => {
    const problem = refusal("invalid_payload");
    const state = after(interrupted(ask("a")), answered("a"), submitted, {
      ...interrupted(ask("a")),
      origin: "submit",
      problem: { ...problem, problems: { a: [{ pointer: "", message: "no" }] } },
    } as Action);
    expect(state).toMatchObject({ status: "failed", errors: { a: [{ message: "no" }] } });
  });
});

describe("any sequence of events", () => {
  const ids = fc.constantFrom("a", "b", "c");
  const interrupt = fc
    .record({ id: ids, expiry: fc.boolean() })
    .map(({ id, expiry }) => ask(id, expiry ? { expiresAt: "2026-01-01T00:00:30Z" } : {}));
  const now = fc.constantFrom(NOW, LATER);
  const origin = fc.constantFrom("run", "submit", "sync" as const);
  const failure = fc.constantFrom(
    network,
    refusal("already_resolved", { a: {} }),
    refusal("interrupt_expired", { b: {} }),
    refusal("unknown_interrupt"),
    refusal("thread_busy"),
  );
  const action = fc.oneof(
    fc.record({ type: fc.constant("started"), origin, now }),
    fc.record({ type: fc.constant("submitted"), now }),
    fc.record({ type: fc.constant("accepted"), now }),
    fc.record({
      type: fc.constant("interrupted"),
      origin,
      interrupts: fc.array(interrupt, { minLength: 1, maxLength: 4 }),
      anchor: fc.constant(null),
      problem: fc.constant(null),
      now,
    }),
    fc.record({ type: fc.constant("finished"), origin, cancelled: fc.boolean(), now }),
    fc.record({ type: fc.constant("failed"), origin, failure, now }),
    fc.record({ type: fc.constant("answered"), id: ids, answer: fc.constant(yes), now }),
    fc.record({ type: fc.constant("withdrawn"), id: ids, now }),
    fc.record({ type: fc.constant("ticked"), now }),
    fc.record({ type: fc.constant("abandoned") }),
    fc.record({ type: fc.constant("dismissed") }),
  ) as fc.Arbitrary<Action>;

  it("keeps the machine's promises", () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 40 }), (actions) => {
        let state = initialState("t");
        for (const next of actions) {
          const before = structuredClone(state);
          const after = reduce(Object.freeze(state), next);
          expect(state).toEqual(before);
          checkPromises(state, next, after);
          state = after;
        }
      }),
      { numRuns: 500 },
    );
  });
});

function checkPromises(before: MachineState, action: Action, after: MachineState): void {
  const open = after.interrupts.map((interrupt) => interrupt.id);
  expect(new Set(open).size).toBe(open.length);
  for (const id of Object.keys(after.answers)) {
    if (after.inFlight.length === 0) expect(open).toContain(id);
  }
  for (const id of after.expired) expect(open).toContain(id);
  for (const closed of after.closed) expect(open).not.toContain(closed.interrupt.id);
  if (["awaiting", "expired", "submitting"].includes(after.status)) {
    expect(open).not.toHaveLength(0);
  }
  if (["idle", "running", "stale"].includes(after.status)) expect(open).toHaveLength(0);
  if (after.status === "submitting" && before.status !== "submitting") {
    expect(action.type).toBe("submitted");
    expect(canSubmit(before, "now" in action ? action.now : NOW)).toBe(true);
  }
  // A failure that says nothing about the questions loses neither one nor an answer.
  if (action.type === "failed" && action.failure === network && before.status === "submitting") {
    expect(after.answers).toEqual(before.answers);
    expect(after.interrupts).toEqual(before.interrupts);
  }
}
