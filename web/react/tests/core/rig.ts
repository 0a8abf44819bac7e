import { expect, vi } from "vitest";
import { InterruptController } from "../../src/core/index.js";
import { approval, calls, interrupted, run, snapshot, type ScriptedServer } from "../wire.js";

/** Lets what is due now happen, under fake timers. */
export const flush = () => vi.advanceTimersByTimeAsync(1);

/** A controller that listens, with its server. */
export interface Rig {
  readonly server: ScriptedServer;
  readonly controller: InterruptController;
  readonly stop: () => void;
}

/** A thread that has run once and asks these questions. */
export async function open(server: ScriptedServer, ...ids: string[]): Promise<Rig> {
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
