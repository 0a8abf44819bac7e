import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { InterruptController } from "../../src/core/index.js";
import {
  approval,
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
import { flush, open } from "./rig.js";

beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse("2026-01-01T00:00:00Z") });
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.useRealTimers();
});

describe("collecting answers", () => {
  it("[CL-01] [CL-04] shows every open interrupt and sends one resume that covers all, once all are answered", async () => {
    const { server, controller } = await open(new ScriptedServer(), "a", "b", "c");
    server.onRun(run(...says("m1", "done"), finished));
    expect(controller.getSnapshot().interrupts.map((interrupt) => interrupt.id)).toEqual([
      "a",
      "b",
      "c",
    ]);
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
    expect(controller.getSnapshot().closed.map((closed) => closed.ending)).toEqual(
      Array(3).fill("answered"),
    );
  });

  it("[CL-06] resumes under a run id that was never used before", async () => {
    const { server, controller } = await open(new ScriptedServer(), "a");
    server.onRun(run(refusal("thread_busy")), run(finished));
    await controller.resolve({ approved: true });
    await controller.submit();
    const ids = server.runs.map((run) => run.body.runId);
    expect(new Set(ids).size).toBe(3);
  });

  it("[TB-12] [B7] adds no tool message and no other message to what it sends", async () => {
    const { server, controller } = await open(new ScriptedServer(), "a");
    server.onRun(run(finished));
    await controller.resolve({ approved: true });
    expect(server.runs[1]?.body.messages.map((message) => message.role)).toEqual([]);
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
    server.onRun(run(refusal("invalid_payload", { interrupts: [{ interruptId: "b", problems }] })));
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
    expect(controller.getSnapshot().interrupts.map((interrupt) => interrupt.id)).toEqual(["b"]);
    expect(controller.getSnapshot().closed.map((closed) => closed.interrupt.id)).toEqual(["a"]);
  });
});
