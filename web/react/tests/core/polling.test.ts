import { HttpAgent } from "@ag-ui/client";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { InterruptController, type MachineState } from "../../src/core/index.js";
import {
  approval,
  cancelled,
  deferred,
  finished,
  heldRun,
  interrupted,
  run,
  refusal,
  runError,
  says,
  ScriptedServer,
  snapshot,
  sse,
} from "../wire.js";

import { flush, open, type Rig } from "./rig.js";

beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse("2026-01-01T00:00:00Z") });
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.useRealTimers();
});

describe("following the server", () => {
  it("[A1] [CL-10] restores what is open by asking the server", async () => {
    const server = new ScriptedServer();
    const agent = server.agent();
    const controller = new InterruptController(agent);
    controller.subscribe(() => undefined);
    const messages = [{ id: "u1", role: "user", content: "go" }];
    server.onConnect(run(...snapshot(messages), interrupted(approval("a"))));
    await controller.connect();
    expect(controller.getSnapshot()).toMatchObject({
      status: "awaiting",
      interrupts: [{ id: "a" }],
      batches: [{ id: "a", anchor: "u1", ids: ["a"] }],
    });
    expect(server.received[0]?.body.messages).toEqual([]);
    server.onRun(run(finished));
    await controller.resolve({ approved: true });
    expect(controller.getSnapshot().status).toBe("idle");
  });

  it("[Q4] closes a question that another tab answered, and keeps one that stayed open with its answer", async () => {
    const { server, controller } = await open(new ScriptedServer(), "a", "b");
    await controller.resolve({ approved: true }, "b");
    server.onConnect(run(...snapshot(), interrupted(approval("b"))), run(...snapshot(), finished));
    await controller.connect();
    expect(controller.getSnapshot()).toMatchObject({
      status: "awaiting",
      interrupts: [{ id: "b" }],
      answers: { b: { status: "resolved" } },
      closed: [{ ending: "answeredElsewhere", interrupt: { id: "a" } }],
    });
    await controller.connect();
    expect(controller.getSnapshot().status).toBe("stale");
    controller.dismiss();
    expect(controller.getSnapshot().status).toBe("idle");
  });

  it("[Q1] tells who decided when an answer comes too late", async () => {
    const { server, controller } = await open(new ScriptedServer(), "a");
    server.onRun(
      run(
        refusal("already_resolved", {
          interrupts: [{ interruptId: "a", by: "kim", at: "2026-01-01T00:00:00Z" }],
        }),
      ),
    );
    server.onConnect(run(...snapshot(), finished));
    await controller.resolve({ approved: true });
    await flush();
    expect(controller.getSnapshot()).toMatchObject({
      status: "stale",
      interrupts: [],
      closed: [{ ending: "answeredElsewhere", by: "kim", at: "2026-01-01T00:00:00Z" }],
    });
  });

  it("becomes running when it finds a live run, silent or not, where nothing was open", async () => {
    const server = new ScriptedServer();
    const controller = new InterruptController(server.agent());
    controller.subscribe(() => undefined);
    const hold = deferred();
    server.onConnect(heldRun(snapshot(), hold.promise, [...says("m2", "late"), finished]));
    const look = controller.connect();
    await vi.advanceTimersByTimeAsync(600);
    expect(controller.getSnapshot()).toMatchObject({ status: "running", interrupts: [] });
    hold.resolve();
    await look;
    expect(controller.getSnapshot().status).toBe("idle");
  });

  it("closes what is open once a live run says something, and not while a look only lasts", async () => {
    const { server, controller } = await open(new ScriptedServer(), "a");
    const before = controller.getSnapshot();
    const hold = deferred();
    server.onConnect(heldRun(snapshot(), hold.promise, [...says("m2", "late"), finished]));
    const look = controller.connect();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(controller.getSnapshot()).toBe(before);
    const states: MachineState[] = [];
    controller.subscribe(() => states.push(controller.getSnapshot()));
    hold.resolve();
    await look;
    expect(states).toMatchObject([
      { status: "running", interrupts: [], closed: [{ ending: "answeredElsewhere" }] },
      { status: "idle" },
    ]);
  });

  it("waits for a snapshot that comes slowly before it takes a run for a live one", async () => {
    const { server, controller } = await open(new ScriptedServer(), "a", "b");
    controller.answer("a", { status: "resolved", payload: { approved: true } });
    const before = controller.getSnapshot();
    const hold = deferred();
    const asked = [...snapshot(), interrupted(approval("a"), approval("b"))];
    server.onConnect(heldRun([], hold.promise, asked));
    const look = controller.connect();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(controller.getSnapshot()).toBe(before);
    hold.resolve();
    await look;
    expect(controller.getSnapshot()).toMatchObject({
      status: "awaiting",
      answers: { a: { status: "resolved" } },
      asked: { a: 1, b: 1 },
    });
  });

  it.each(["ends", "breaks"])(
    "keeps what was answered where a look that stalls and %s was not of a live run",
    async (how) => {
      const { server, controller } = await open(new ScriptedServer(), "a", "b");
      const answers = { a: { status: "resolved", payload: { approved: true } } } as const;
      controller.answer("a", answers.a);
      const hold = deferred();
      const questions = interrupted(approval("a"), approval("b"));
      server.onConnect(
        heldRun(snapshot(), hold.promise, how === "ends" ? [questions] : []),
        run(...snapshot(), questions),
      );
      const before = controller.getSnapshot();
      const look = controller.connect();
      await vi.advanceTimersByTimeAsync(600);
      expect(controller.getSnapshot()).toBe(before);
      hold.resolve();
      await look;
      await controller.connect();
      expect(controller.getSnapshot()).toMatchObject({
        status: "awaiting",
        interrupts: [{ id: "a" }, { id: "b" }],
        answers,
        asked: { a: 1, b: 1 },
        closed: [],
      });
    },
  );

  it("[A2] shows the question as soon as the outcome is there, with the body still open", async () => {
    const server = new ScriptedServer();
    const controller = new InterruptController(server.agent());
    controller.subscribe(() => undefined);
    const hold = deferred();
    server.onRun(heldRun([interrupted(approval("a"))], hold.promise), run(finished));
    void controller.runs.start("run");
    await flush();
    expect(controller.getSnapshot().status).toBe("awaiting");
    await controller.resolve({ approved: true });
    expect(controller.getSnapshot().status).toBe("idle");
    hold.resolve();
  });

  it("[A3] takes up what a loaded conversation had open, without what is no question", async () => {
    const server = new ScriptedServer();
    const agent = server.agent();
    agent.messages = [{ id: "u1", role: "user", content: "go" }];
    const stored = [approval("a"), { id: "b", message: "no reason" }, null, "c"];
    agent.pendingInterrupts = stored as never;
    const controller = new InterruptController(agent);
    controller.subscribe(() => undefined);
    expect(controller.getSnapshot()).toMatchObject({
      status: "awaiting",
      interrupts: [{ id: "a", reason: "tool_call" }],
      batches: [{ id: "a", anchor: "u1", ids: ["a"] }],
    });
    server.onRun(run(finished));
    await controller.resolve({ approved: true });
    expect(server.runs[0]?.body.resume).toEqual([
      { interruptId: "a", status: "resolved", payload: { approved: true } },
    ]);
    expect(controller.getSnapshot().status).toBe("idle");
  });

  it.each([finished, cancelled, runError("boom")])(
    "[O7] keeps a question that a further run in the same body says nothing about",
    async (end) => {
      const server = new ScriptedServer();
      const controller = new InterruptController(server.agent());
      controller.subscribe(() => undefined);
      const again = { type: "RUN_STARTED", threadId: "thread-1", runId: "another" };
      server.onRun(run(interrupted(approval("a")), again, end), run(finished));
      await controller.runs.start("run");
      expect(controller.getSnapshot().interrupts).toEqual([approval("a")]);
      await controller.resolve({ approved: true });
      expect(server.runs[1]?.body.resume).toHaveLength(1);
      expect(controller.getSnapshot()).toMatchObject({ status: "idle", interrupts: [] });
    },
  );

  it("[O7] lets a further run retire it that carries the answer, or comes after older runs", async () => {
    const start = (runId: string, more: object = {}) => ({
      type: "RUN_STARTED",
      threadId: "thread-1",
      runId,
      ...more,
    });
    const entry = { interruptId: "a", status: "resolved", payload: { approved: true } };
    const input = { threadId: "thread-1", runId: "x", messages: [], tools: [], context: [] };
    const resumed = start("x", {
      input: { ...input, state: {}, forwardedProps: {}, resume: [entry] },
    });
    const past = { ...interrupted(approval("a")), threadId: "thread-1", runId: "old" };
    const bodies = [
      run(interrupted(approval("a")), resumed, finished),
      ({ body: { runId } }: { body: { runId: string } }) =>
        sse([start("old"), past, start(runId), { ...finished, threadId: "thread-1", runId }]),
    ];
    for (const body of bodies) {
      const server = new ScriptedServer().onRun(body);
      const controller = new InterruptController(server.agent());
      controller.subscribe(() => undefined);
      await controller.runs.start("run");
      expect(controller.getSnapshot().interrupts).toEqual([]);
    }
  });

  it("hears runs that somebody else starts on the same agent", async () => {
    const server = new ScriptedServer();
    const agent = server.agent();
    const controller = new InterruptController(agent);
    controller.subscribe(() => undefined);
    server.onRun(run(interrupted(approval("a"))), run(...says("m1", "x")));
    await agent.runAgent();
    expect(controller.getSnapshot().status).toBe("awaiting");
    await agent.runAgent({ resume: [{ interruptId: "a", status: "cancelled" }] });
    await flush();
    expect(controller.getSnapshot()).toMatchObject({
      status: "failed",
      failure: { kind: "truncated" },
    });
  });

  it("[CK-01] [CL-17] finds what was open before anybody listened, and who raised it", async () => {
    const server = new ScriptedServer();
    const agent = server.agent();
    server.onRun(run(interrupted(approval("a", { subagentRunId: "s1" }))));
    await agent.runAgent();
    const controller = new InterruptController(agent);
    controller.subscribe(() => undefined);
    expect(controller.getSnapshot().interrupts).toMatchObject([{ id: "a", subagentRunId: "s1" }]);
  });

  it("[A11] [CL-16] [RE-20] keeps each thread's questions to itself", async () => {
    const { controller } = await open(new ScriptedServer(), "a");
    await controller.switchThread("thread-2");
    expect(controller.getSnapshot()).toMatchObject({ status: "idle", interrupts: [] });
    expect(controller.agent.pendingInterrupts).toEqual([]);
    await controller.switchThread("thread-1");
    expect(controller.getSnapshot().interrupts.map((interrupt) => interrupt.id)).toEqual(["a"]);
  });

  it("[CL-09] [OU-09] a cancelled run is neither a success nor a failure and leaves nothing open", async () => {
    const { server, controller } = await open(new ScriptedServer(), "a");
    server.onRun(run(cancelled));
    await controller.cancel();
    expect(controller.getSnapshot()).toMatchObject({
      status: "idle",
      failure: null,
      interrupts: [],
    });
  });

  it("does nothing when asked to connect with an agent that cannot", async () => {
    const server = new ScriptedServer();
    const agent = new HttpAgent({ url: "http://sayso.test/agents/ops", fetch: server.fetch });
    const controller = new InterruptController(agent);
    expect(await controller.connect()).toBeUndefined();
    expect(server.received).toEqual([]);
  });
});

describe("expiry", () => {
  const soon = { expiresAt: "2026-01-01T00:01:00Z" };

  async function expiring(): Promise<Rig> {
    const server = new ScriptedServer();
    const controller = new InterruptController(server.agent());
    const stop = controller.subscribe(() => undefined);
    server.onRun(run(interrupted(approval("a", soon))));
    await controller.runs.start("run");
    return { server, controller, stop };
  }

  it("[CL-12] [EX-01] turns expired at the very instant and then takes only a cancel", async () => {
    const { server, controller } = await expiring();
    await vi.advanceTimersByTimeAsync(59_999 - 5);
    expect(controller.getSnapshot().status).toBe("awaiting");
    await vi.advanceTimersByTimeAsync(6);
    expect(controller.getSnapshot()).toMatchObject({ status: "expired", expired: ["a"] });
    await controller.resolve({ approved: true });
    expect(server.runs).toHaveLength(1);
    server.onRun(run(finished));
    await controller.cancel();
    expect(server.runs[1]?.body.resume).toEqual([{ interruptId: "a", status: "cancelled" }]);
    expect(controller.getSnapshot().status).toBe("idle");
  });

  it("[EX-04] takes the server's word that time is over, whatever our clock says", async () => {
    const { server, controller } = await expiring();
    server.onRun(run(refusal("interrupt_expired", { interrupts: [{ interruptId: "a" }] })));
    server.onConnect(run(...snapshot(), interrupted(approval("a", soon))));
    await controller.resolve({ approved: true });
    await flush();
    expect(controller.getSnapshot().status).toBe("expired");
  });

  it("leaves no timer behind when nobody listens any more", async () => {
    const { stop } = await expiring();
    expect(vi.getTimerCount()).toBeGreaterThan(0);
    stop();
    expect(vi.getTimerCount()).toBe(0);
  });
});
