import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Conversation, InterruptController } from "../../src/core/index.js";
import { finished, run, says, ScriptedServer, snapshot } from "../wire.js";

function live(server: ScriptedServer) {
  const controller = new InterruptController(server.agent());
  let back: () => void = () => undefined;
  const conversation = new Conversation(controller, {
    page: {
      hidden: () => false,
      onReturn: (callback) => {
        back = callback;
        return () => undefined;
      },
    },
  });
  conversation.open();
  const returns = () => {
    back();
  };
  return { conversation, returns };
}

const pass = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);

beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse("2026-01-01T00:00:00Z") });
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a look at a thread", () => {
  it("still says what a run failed of after a look, and sends the next text all the same", async () => {
    const problem = { code: "agent_error", message: "No paper." };
    const details = { ...finished, metadata: { sayso: { problem } } };
    const server = new ScriptedServer()
      .onConnect(run(...snapshot(), details), run(...snapshot(), details))
      .onRun(run(...says("m1", "done"), finished));
    const rig = live(server);
    rig.conversation.send("early");
    await pass(1);
    expect(server.runs).toHaveLength(1);
    rig.returns();
    await pass(20);
    const { status: now, failure } = rig.conversation.controller.getSnapshot();
    expect(now).toBe("failed");
    expect(failure).toMatchObject({ kind: "agent", code: "agent_error", message: "No paper." });
    expect(rig.conversation.send("late")).toBe("sent");
  });

  it("says that the server does not show a thread, and asks again when it is looked at", async () => {
    const denied = () => Response.json({ detail: "Who are you?" }, { status: 403 });
    const server = new ScriptedServer().onConnect(denied, run(...snapshot(), finished));
    const rig = live(server);
    await pass(1);
    expect(rig.conversation.getSnapshot().connection).toMatchObject({
      status: "refused",
      failure: { httpStatus: 403, message: "Who are you?" },
    });
    rig.returns();
    await pass(1);
    expect(rig.conversation.getSnapshot().connection).toEqual({ status: "ready" });
  });

  it("takes a server that has no way to look at a thread for one that has nothing to show", async () => {
    const absent = () => new Response("Not Found", { status: 404 });
    const rig = live(new ScriptedServer().onConnect(absent));
    await pass(1);
    expect(rig.conversation.getSnapshot().connection).toEqual({ status: "ready" });
    expect(rig.conversation.controller.getSnapshot().status).toBe("idle");
  });
});
