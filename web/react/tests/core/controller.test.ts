import { HttpAgent } from "@ag-ui/client";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { InterruptController } from "../../src/core/index.js";
import {
  approval,
  calls,
  cancelled,
  deferred,
  finished,
  heldRun,
  interrupted,
  run,
  runError,
  says,
  ScriptedServer,
  snapshot,
  sse,
} from "../wire.js";

const flush = () => vi.advanceTimersByTimeAsync(1);

interface Rig {
  readonly server: ScriptedServer;
  readonly controller: InterruptController;
  readonly stop: () => void;
}

async function open(server: ScriptedServer, ...ids: string[]): Promise<Rig> {
  const agent = server.agent();
  const controller = new InterruptController(agent, { clock: () => Date.now() });
  const stop = controller.subscribe(() => undefined);
  agent.messages = [{ id: "u1", role: "user", content: "go" }];
  server.onRun(
    run(
      ...ids.flatMap((id) => calls(`call-${id}`, "pay", { id })),
      ...snapshot([{ id: "u1", role: "user", content: "go" }]),
      interrupted(...ids.map((id) => approval(id))),
    ),
  );
  await controller.runs.start("run");
  expect(controller.getSnapshot().status).toBe("awaiting");
  return { server, controller, stop };
}

beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse("2026-01-01T00:00:00Z") });
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.useRealTimers();
});

describe("collecting answers", () => {
  it("[CL-01] shows every open interrupt and sends one resume that covers all, once all are answered", async () => {
    const { server, controller } = await open(new ScriptedServer(), "a", "b", "c");
    server.onRun(run(...says("m1", "done"), finished));
    expect(controller.getSnapshot().interrupts.map((one) => one.id)).toEqual(["a", "b", "c"]);
    await controller.resolve({ approved: true }, "a");
    await controller.resolve({ approved: false, reason: "no" }, "b");
    expect(server.runs).toHaveLength(1);
    await controller.cancel("c");
    expect(server.runs).toHaveLength(2);
    expect(server.runs[1]?.body.resume).toEqual([
      { interruptId: "a", status: "resolved", payload: { approved: true } },
      { interruptId: "b", status: "resolved", payload: { approved: false, reason: "no" } },
      { interruptId: "c", status: "cancelled" },
    ]);
    expect(controller.getSnapshot().status).toBe("idle");
    expect(controller.getSnapshot().closed.map((one) => one.ending)).toEqual(
      Array(3).fill("answered"),
    );
  });

  it("[CL-06] resumes under a run id that was never used before", async () => {
    const { server, controller } = await open(new ScriptedServer(), "a");
    server.onRun(run(runError("thread_busy")), run(finished));
    await controller.resolve({ approved: true });
    await controller.submit();
    const ids = server.runs.map((one) => one.body.runId);
    expect(new Set(ids).size).toBe(3);
  });

  it("[TB-12] [B7] adds no tool message and no other message to what it sends", async () => {
    const { server, controller } = await open(new ScriptedServer(), "a");
    server.onRun(run(finished));
    await controller.resolve({ approved: true });
    expect(server.runs[1]?.body.messages.map((one) => one.role)).toEqual(["user"]);
  });

  it("[G1] keeps the type of every answer, also of falsy ones", async () => {
    for (const payload of [false, 0, "", [], {}, "yes", [1], 3]) {
      const { server, controller } = await open(new ScriptedServer(), "a");
      server.onRun(run(finished));
      await controller.resolve(payload);
      expect(server.runs[1]?.body.resume?.[0]?.payload).toEqual(payload);
    }
  });

  it("lets an answer be changed or taken back until it is sent", async () => {
    const { server, controller } = await open(new ScriptedServer(), "a", "b");
    await controller.resolve({ approved: true }, "a");
    controller.withdraw("a");
    expect(controller.getSnapshot().answers).toEqual({});
    await controller.resolve({ approved: false }, "a");
    server.onRun(run(finished));
    await controller.resolve({ approved: true }, "b");
    expect(server.runs[1]?.body.resume?.[0]?.payload).toEqual({ approved: false });
  });

  it("[CL-05] does not keep an answer that its schema refuses", async () => {
    const server = new ScriptedServer();
    const agent = server.agent();
    const problems = [{ pointer: "/approved", message: "is required" }];
    const controller = new InterruptController(agent, { validate: () => problems });
    controller.subscribe(() => undefined);
    server.onRun(run(interrupted(approval("a"))));
    await controller.runs.start("run");
    await controller.resolve({});
    expect(server.runs).toHaveLength(1);
    expect(controller.getSnapshot().errors).toEqual({ a: problems });
  });
});

describe("failing and trying again", () => {
  it("[CL-13] [ID-09] sends once however often it is pressed", async () => {
    const { server, controller } = await open(new ScriptedServer(), "a");
    const hold = deferred();
    server.onRun(heldRun([], hold.promise, [finished]));
    const first = controller.resolve({ approved: true });
    await flush();
    await controller.resolve({ approved: false });
    await controller.submit();
    expect(controller.getSnapshot().status).toBe("submitting");
    hold.resolve();
    await first;
    expect(server.runs).toHaveLength(2);
    expect(controller.getSnapshot().status).toBe("idle");
  });

  it.each([
    ["a broken network", () => Promise.reject(new TypeError("Failed to fetch")), "network"],
    ["an HTTP error", () => new Response("{}", { status: 500 }), "http"],
    ["HTML with status 200", () => new Response("<p>hi</p>"), "protocol"],
    ["an illegal stream", () => sse([{ type: "CUSTOM", name: "x", value: 1 }]), "protocol"],
  ] as const)(
    "[CL-07] [ID-10] keeps question and answer after %s and sends the same entries again",
    async (_name, reply, kind) => {
      const { server, controller } = await open(new ScriptedServer(), "a");
      server.onRun(reply, run(finished));
      expect(await controller.resolve({ approved: true })).toBeUndefined();
      const failed = controller.getSnapshot();
      expect(failed.status).toBe("failed");
      expect(failed.failure?.kind).toBe(kind);
      expect(failed.interrupts).toHaveLength(1);
      expect(failed.answers).toEqual({ a: { status: "resolved", payload: { approved: true } } });
      await controller.submit();
      expect(server.runs[2]?.body.resume).toEqual(server.runs[1]?.body.resume);
      expect(controller.getSnapshot().status).toBe("idle");
    },
  );

  it("[CL-14] [LC-16] does not take a stream without an end for a success, and asks the server", async () => {
    const { server, controller } = await open(new ScriptedServer(), "a");
    server.onRun(run(...says("m1", "half")));
    server.onConnect(run(...snapshot(), interrupted(approval("a"))));
    await controller.resolve({ approved: true });
    await flush();
    const state = controller.getSnapshot();
    expect(state.status).toBe("failed");
    expect(state.failure?.kind).toBe("truncated");
    expect(state.answers.a).toBeDefined();
    expect(server.received.at(-1)?.path).toBe("/agents/ops/connect");
  });

  it("counts a submission as ours when the stream broke and the question is gone afterwards", async () => {
    const { server, controller } = await open(new ScriptedServer(), "a");
    server.onRun(run(...says("m1", "half")));
    server.onConnect(run(...snapshot(), finished));
    await controller.resolve({ approved: true });
    await flush();
    const state = controller.getSnapshot();
    expect(state.status).toBe("idle");
    expect(state.closed[0]).toMatchObject({ ending: "answered" });
  });

  it("[CL-15] puts the server's complaints at the fields they are about", async () => {
    const { server, controller } = await open(new ScriptedServer(), "a", "b");
    const problems = [{ pointer: "/editedArgs/amount", message: "must be at least 1" }];
    server.onRun(
      run(runError("invalid_payload", { interrupts: [{ interruptId: "b", problems }] })),
    );
    await controller.resolve({ approved: true }, "a");
    await controller.resolve({ approved: true, editedArgs: { amount: 0 } }, "b");
    const state = controller.getSnapshot();
    expect(state.status).toBe("failed");
    expect(state.failure?.kind).toBe("refused");
    expect(state.errors).toEqual({ b: problems });
    controller.answer("b", { status: "resolved", payload: { approved: true } });
    expect(controller.getSnapshot().errors).toEqual({});
  });

  it("[T3] gives up on a request that never comes back and offers the same again", async () => {
    const { server, controller } = await open(new ScriptedServer(), "a");
    server.onRun(() => new Promise<Response>(() => undefined), run(finished));
    const sent = controller.resolve({ approved: true });
    await vi.advanceTimersByTimeAsync(30_000);
    await sent;
    expect(controller.getSnapshot()).toMatchObject({
      status: "failed",
      failure: { kind: "timeout" },
    });
    await controller.submit();
    expect(controller.getSnapshot().status).toBe("idle");
  });

  it("[OU-13] [LC-15] keeps questions open when an error follows the outcome", async () => {
    const server = new ScriptedServer();
    const controller = new InterruptController(server.agent());
    controller.subscribe(() => undefined);
    server.onRun(run(interrupted(approval("a")), runError("agent_error")));
    await controller.runs.start("run");
    expect(controller.getSnapshot()).toMatchObject({
      status: "failed",
      interrupts: [{ id: "a" }],
    });
  });

  it("[CL-08] starts afresh when the server asks the same question again", async () => {
    const { server, controller } = await open(new ScriptedServer(), "a");
    server.onRun(run(...snapshot(), interrupted(approval("a", { message: "Really?" }))));
    await controller.resolve({ approved: true });
    const state = controller.getSnapshot();
    expect(state.status).toBe("awaiting");
    expect(state.answers).toEqual({});
    expect(state.asked).toEqual({ a: 2 });
    expect(state.interrupts[0]?.message).toBe("Really?");
    expect(state.closed).toEqual([]);
  });

  it("[C11] shows a second question of the resumed run", async () => {
    const { server, controller } = await open(new ScriptedServer(), "a");
    server.onRun(run(...says("m1", "more"), interrupted(approval("b"))));
    await controller.resolve({ approved: true });
    expect(controller.getSnapshot().interrupts.map((one) => one.id)).toEqual(["b"]);
    expect(controller.getSnapshot().closed.map((one) => one.interrupt.id)).toEqual(["a"]);
  });
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
      closed: [{ ending: "elsewhere", interrupt: { id: "a" } }],
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
        runError("already_resolved", {
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
      closed: [{ ending: "elsewhere", by: "kim", at: "2026-01-01T00:00:00Z" }],
    });
  });

  it("becomes running when it finds a live run, silent or not", async () => {
    const { server, controller } = await open(new ScriptedServer(), "a");
    const hold = deferred();
    server.onConnect(heldRun(snapshot(), hold.promise, [...says("m2", "late"), finished]));
    const look = controller.connect();
    await vi.advanceTimersByTimeAsync(600);
    expect(controller.getSnapshot()).toMatchObject({
      status: "running",
      interrupts: [],
      closed: [{ ending: "elsewhere" }],
    });
    hold.resolve();
    await look;
    expect(controller.getSnapshot().status).toBe("idle");
  });

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

  it("[CK-01] finds what was open before anybody listened", async () => {
    const server = new ScriptedServer();
    const agent = server.agent();
    server.onRun(run(interrupted(approval("a"))));
    await agent.runAgent();
    const controller = new InterruptController(agent);
    controller.subscribe(() => undefined);
    expect(controller.getSnapshot().interrupts.map((one) => one.id)).toEqual(["a"]);
  });

  it("[A11] [CL-16] keeps each thread's questions to itself", async () => {
    const { controller } = await open(new ScriptedServer(), "a");
    await controller.switchThread("thread-2");
    expect(controller.getSnapshot()).toMatchObject({ status: "idle", interrupts: [] });
    expect(controller.agent.pendingInterrupts).toEqual([]);
    await controller.switchThread("thread-1");
    expect(controller.getSnapshot().interrupts.map((one) => one.id)).toEqual(["a"]);
  });

  it("[CL-09] a cancelled run is neither a success nor a failure and leaves nothing open", async () => {
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
    server.onRun(run(runError("interrupt_expired", { interrupts: [{ interruptId: "a" }] })));
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
