import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { InterruptController } from "../../src/core/index.js";
import {
  approval,
  calls,
  deferred,
  finished,
  heldRun,
  interrupted,
  run,
  runError,
  says,
  ScriptedServer,
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

function listening(server: ScriptedServer): InterruptController {
  const controller = new InterruptController(server.agent());
  controller.subscribe(() => undefined);
  return controller;
}

const texts = (controller: InterruptController) =>
  controller.agent.messages.map((message) => message.content);

describe("a run that fails", () => {
  it("[LC-14] [ER-10] is told apart from a stream that broke, and keeps what came before", async () => {
    const server = new ScriptedServer();
    const controller = listening(server);
    server.onRun(run(...says("m1", "half"), runError("agent_error")));
    await controller.runs.start("run");
    expect(controller.getSnapshot()).toMatchObject({
      status: "failed",
      failure: { kind: "agent", code: "agent_error" },
    });
    expect(texts(controller)).toEqual(["half"]);
    server.onRun(() => sse([...says("m2", "early")]));
    await controller.runs.start("run");
    expect(controller.getSnapshot()).toMatchObject({
      status: "failed",
      failure: { kind: "protocol" },
    });
    expect(texts(controller)).toEqual(["half"]);
  });

  it("[LC-17] is not taken for done because the status was 200", async () => {
    const { server, controller } = await open(new ScriptedServer(), "a");
    const html = { headers: { "content-type": "text/html" } };
    server.onRun(() => new Response("<p>Sign in</p>", html));
    server.onConnect(() => new Response("<p>Sign in</p>", html));
    await controller.resolve({ approved: true });
    await flush();
    const state = controller.getSnapshot();
    expect(state.status).toBe("failed");
    expect(state.failure?.kind).toBe("protocol");
    expect(state.interrupts.map((interrupt) => interrupt.id)).toEqual(["a"]);
  });

  it("[RE-18] may have been stopped by the client itself, before anything was sent", async () => {
    const { server, controller } = await open(new ScriptedServer(), "a");
    const own = new Error("Thread has 1 pending interrupt(s) not addressed by resume: zz");
    vi.spyOn(controller.agent, "runAgent").mockRejectedValueOnce(own);
    server.onRun(run(finished));
    await controller.resolve({ approved: true });
    expect(server.runs).toHaveLength(1);
    expect(controller.getSnapshot().status).toBe("failed");
    expect(controller.getSnapshot().failure?.message).toMatch(/not addressed/);
    await controller.submit();
    expect(controller.getSnapshot().status).toBe("idle");
  });
});

describe("a request", () => {
  it("[LC-19] [VN-02] has a run id of its own and the version that is spoken", async () => {
    const server = new ScriptedServer();
    const controller = listening(server);
    server.onRun(run(finished), run(finished), run(finished));
    for (let round = 0; round < 3; round++) await controller.runs.start("run");
    expect(new Set(server.runs.map(({ body }) => body.runId)).size).toBe(3);
    expect(server.runs.map(({ body }) => body.protocolVersion)).toEqual(["1.0", "1.0", "1.0"]);
  });
});

describe("a stream", () => {
  it("[PT-04] may hold custom events that nobody here knows", async () => {
    const server = new ScriptedServer();
    const controller = listening(server);
    const unknown = { type: "CUSTOM", name: "elsewhere:thing", value: { html: "<b>" } };
    server.onRun(run(unknown, ...says("m1", "done"), unknown, finished));
    await controller.runs.start("run");
    expect(controller.getSnapshot()).toMatchObject({ status: "idle", failure: null });
    expect(texts(controller)).toEqual(["done"]);
  });

  it("[TC-05] asks nothing about a call whose arguments are still on their way", async () => {
    const server = new ScriptedServer();
    const controller = listening(server);
    const hold = deferred();
    const [start, args, end] = calls("call-a", "pay", { id: "a" });
    const tail = [end, interrupted(approval("a"))].filter((event) => event !== undefined);
    const head = [start, args].filter((event) => event !== undefined);
    server.onRun(heldRun(head, hold.promise, tail));
    const running = controller.runs.start("run");
    await flush();
    expect(controller.getSnapshot()).toMatchObject({ status: "running", interrupts: [] });
    hold.resolve();
    await running;
    expect(controller.getSnapshot().interrupts.map((interrupt) => interrupt.id)).toEqual(["a"]);
  });

  it("[TR-32] [CL-02] is where the questions come from, not a list of the client's", async () => {
    const server = new ScriptedServer();
    const agent = server.agent();
    const seen: number[] = [];
    const controller = new InterruptController(agent);
    controller.subscribe(() => seen.push(agent.pendingInterrupts.length));
    server.onRun(run(interrupted(approval("a"))));
    await controller.runs.start("run");
    agent.pendingInterrupts = [];
    await flush();
    expect(controller.getSnapshot().interrupts.map((interrupt) => interrupt.id)).toEqual(["a"]);
  });
});
