import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  InterruptController,
  sessionDrafts,
  validateAnswer,
  type Closed,
  type ControllerOptions,
} from "../../src/core/index.js";
import { sessionFormDrafts } from "../../src/components/formDrafts.js";
import { digestOf } from "../../src/core/drafts.js";
import {
  approval,
  cancelled,
  deferred,
  finished,
  heldRun,
  interrupted,
  refusal,
  run,
  says,
  ScriptedServer,
  snapshot,
} from "../wire.js";
import { flush } from "./rig.js";

const yes = { status: "resolved", payload: { approved: true } } as const;
const no = { status: "cancelled" } as const;

/** A page that has just been loaded on a thread that asks these questions. */
async function load(
  server: ScriptedServer,
  options: ControllerOptions = { drafts: sessionDrafts() },
): Promise<InterruptController> {
  const controller = new InterruptController(server.agent(), options);
  controller.subscribe(() => undefined);
  void controller.connect();
  await flush();
  return controller;
}

const asks = (...ids: string[]) =>
  new ScriptedServer().onConnect(run(interrupted(...ids.map((id) => approval(id)))));

beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse("2026-01-01T00:00:00Z") });
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  sessionStorage.clear();
});

describe("answers that were given and not sent", () => {
  it("[CL-10] [CL-13] are offered again after a reload, and sent by a person alone", async () => {
    const before = await load(asks("a", "b", "c"));
    before.answer("a", yes);
    before.answer("b", no);
    const server = asks("a", "b", "c");
    const after = await load(server);
    expect(after.getSnapshot()).toMatchObject({ status: "awaiting", answers: { a: yes, b: no } });
    expect(Object.keys(after.getSnapshot().answers)).toEqual(["a", "b"]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(server.runs).toEqual([]);
    server.onRun(run(finished));
    await after.resolve({ approved: true }, "c");
    expect(server.runs[0]?.body.resume).toHaveLength(3);
    expect(sessionStorage).toHaveLength(0);
  });

  it("all given: still nothing leaves before somebody says so", async () => {
    (await load(asks("a", "b"))).answer("a", yes);
    const first = await load(asks("a", "b"));
    first.answer("b", yes);
    const server = asks("a", "b");
    const after = await load(server);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(after.getSnapshot().answers).toEqual({ a: yes, b: yes });
    expect(server.runs).toEqual([]);
  });

  it("are one person's: another one is not shown them, and has other ones", async () => {
    const as = (person: string) => ({ drafts: sessionDrafts(`sayso:${person}`) });
    (await load(asks("a", "b"), as("lea"))).answer("a", yes);
    const other = await load(asks("a", "b"), as("leo"));
    expect(other.getSnapshot().answers).toEqual({});
    other.answer("a", no);
    expect((await load(asks("a", "b"), as("lea"))).getSnapshot().answers).toEqual({ a: yes });
    expect((await load(asks("a", "b"), as("leo"))).getSnapshot().answers).toEqual({ a: no });
  });

  it("are not read of a question that takes a secret, whoever has kept them", () => {
    const schema = (more: object) => ({
      type: "object",
      properties: { approved: { type: "boolean" }, code: { type: "string", ...more } },
    });
    const secret = approval("a", { responseSchema: schema({ writeOnly: true }) });
    const answer = { status: "resolved", payload: { approved: true, code: "hunter2" } };
    const kept = { answer, question: digestOf(secret) };
    sessionStorage.setItem("sayso:answers:t", JSON.stringify({ a: kept }));
    expect(sessionDrafts().read("t", [secret])).toEqual({});
    const plain = approval("a", { responseSchema: schema({}) });
    const same = { answer, question: digestOf(plain) };
    sessionStorage.setItem("sayso:answers:t", JSON.stringify({ a: same }));
    expect(sessionDrafts().read("t", [plain])).toEqual({ a: answer });
    const form = { question: digestOf(secret), values: { code: "hunter2" } };
    sessionStorage.setItem("sayso:form:a", JSON.stringify(form));
    expect(sessionFormDrafts().read(secret)).toEqual({});
  });

  it("taken back are not offered again", async () => {
    const before = await load(asks("a", "b"));
    before.answer("a", yes);
    before.withdraw("a");
    expect((await load(asks("a", "b"))).getSnapshot().answers).toEqual({});
  });

  it("[CL-08] do not answer a question that is put differently now, nor break its schema", async () => {
    const before = await load(asks("a", "b"));
    before.answer("a", yes);
    before.answer("b", { status: "resolved", payload: { approved: "yes" } });
    const server = new ScriptedServer().onConnect(
      run(interrupted(approval("a", { message: "May I really?" }), approval("b"))),
    );
    const options = { drafts: sessionDrafts(), validate: validateAnswer };
    expect((await load(server, options)).getSnapshot().answers).toEqual({});
  });

  it("[EX-02] are not offered once the time is over, save a cancellation", async () => {
    const until = { expiresAt: "2026-01-01T00:10:00Z" };
    const both = () =>
      new ScriptedServer().onConnect(run(interrupted(approval("a", until), approval("b", until))));
    const before = await load(both());
    before.answer("a", yes);
    before.answer("b", no);
    vi.setSystemTime(Date.parse("2026-01-01T00:11:00Z"));
    const after = await load(both());
    expect(after.getSnapshot()).toMatchObject({ status: "expired", expired: ["a", "b"] });
    expect(after.getSnapshot().answers).toEqual({ b: no });
  });

  it("outlive a reload while a look has not said yet how the thread stands", async () => {
    const server = asks("a", "b");
    const before = await load(server);
    before.answer("a", yes);
    const hold = deferred();
    server.onConnect(heldRun([...snapshot(), ...says("m1", "so")], hold.promise, [finished]));
    const look = before.connect();
    await flush();
    expect(before.getSnapshot()).toMatchObject({ status: "running", interrupts: [] });
    expect((await load(asks("a", "b"))).getSnapshot().answers).toEqual({ a: yes });
    hold.resolve();
    await look;
    expect(sessionStorage).toHaveLength(0);
  });

  it("are forgotten when the thread has nothing open any more, or the storage is not ours", async () => {
    (await load(asks("a", "b"))).answer("a", yes);
    await load(new ScriptedServer().onConnect(run(finished)));
    expect((await load(asks("a", "b"))).getSnapshot().answers).toEqual({});
    sessionStorage.setItem("sayso:answers:thread-1", "<html>");
    expect((await load(asks("a", "b"))).getSnapshot().answers).toEqual({});
  });

  it("hold in the page where a browser denies storage", async () => {
    vi.spyOn(Storage.prototype, "getItem").mockImplementation(() => {
      throw new DOMException("denied", "SecurityError");
    });
    vi.spyOn(Storage.prototype, "setItem").mockImplementation(() => {
      throw new DOMException("full", "QuotaExceededError");
    });
    const controller = await load(asks("a", "b"));
    expect(controller.answer("a", yes)).toBe(true);
    expect(controller.getSnapshot().answers).toEqual({ a: yes });
  });
});

describe("a question that is gone when we look", () => {
  const details = async (closed: Partial<Closed> | null) => {
    const fetchOutcome = vi.fn(async (id: string) =>
      closed === null
        ? null
        : ({ interrupt: approval(id), answer: null, closedAt: 0, ...closed } as Closed),
    );
    const server = asks("a");
    const controller = await load(server, { fetchOutcome: fetchOutcome });
    server.onConnect(run(finished));
    await controller.connect();
    await flush();
    expect(fetchOutcome).toHaveBeenCalledExactlyOnceWith("a");
    return controller.getSnapshot();
  };

  it("[Q1] is asked about once, and its card says who decided what", async () => {
    const state = await details({ ending: "answeredElsewhere", answer: yes, by: "ada" });
    expect(state.closed).toMatchObject([{ ending: "answeredElsewhere", answer: yes, by: "ada" }]);
    expect(state.status).toBe("stale");
  });

  it("[Q4] is asked about as well where the refusal of a late answer names who was first", async () => {
    const closed = { interrupt: approval("a"), answer: yes, closedAt: 0, by: "ada" };
    const server = asks("a");
    const controller = await load(server, {
      fetchOutcome: () => Promise.resolve({ ...closed, ending: "answeredElsewhere" }),
    });
    server.onRun(
      run(refusal("already_resolved", { interrupts: [{ interruptId: "a", by: "ada" }] })),
    );
    server.onConnect(run(finished));
    await controller.resolve({ approved: false }, "a");
    await flush();
    expect(controller.getSnapshot().closed).toMatchObject([
      { ending: "answeredElsewhere", answer: yes, by: "ada" },
    ]);
  });

  it("says that it was stopped where its turn was stopped", async () => {
    const state = await details({ ending: "stopped", answer: no, by: "ada" });
    expect(state.closed).toMatchObject([{ ending: "stopped", by: "ada" }]);
  });

  it("stays answered elsewhere where the server cannot say", async () => {
    expect((await details(null)).closed).toMatchObject([
      { ending: "answeredElsewhere", answer: null },
    ]);
  });

  it("needs no question when the run itself says that it was cancelled", async () => {
    const fetchOutcome = vi.fn();
    const server = asks("a");
    const controller = await load(server, { fetchOutcome: fetchOutcome });
    server.onConnect(run(cancelled));
    await controller.connect();
    expect(controller.getSnapshot().closed).toMatchObject([{ ending: "stopped" }]);
    expect(fetchOutcome).not.toHaveBeenCalled();
  });
});
