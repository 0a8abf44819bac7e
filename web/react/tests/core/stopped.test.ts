import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { InterruptController } from "../../src/core/index.js";
import { approval, finished, interrupted, run, ScriptedServer } from "../wire.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it.each(["onRunFinishedEvent", "onEvent"] as const)(
  "[CL-03] an event that somebody else stops in %s is heard all the same",
  async (stopsIn) => {
    const server = new ScriptedServer();
    const agent = server.agent();
    agent.subscribe({
      [stopsIn]: ({ event }: { event: { type: string } }) =>
        event.type === "RUN_FINISHED" ? { stopPropagation: true } : undefined,
    });
    const controller = new InterruptController(agent);
    const stop = controller.subscribe(() => undefined);
    server.onRun(run(interrupted(approval("a"))), run(finished));
    await controller.runs.start("run");
    expect(controller.getSnapshot().interrupts.map((interrupt) => interrupt.id)).toEqual(["a"]);
    expect(controller.getSnapshot().status).toBe("awaiting");
    await controller.resolve({ approved: true });
    expect(server.runs[1]?.body.resume?.map((run) => run.interruptId)).toEqual(["a"]);
    expect(controller.getSnapshot().interrupts).toEqual([]);
    expect(controller.getSnapshot().status).toBe("idle");
    stop();
    expect(agent.subscribers).toHaveLength(1);
  },
);
