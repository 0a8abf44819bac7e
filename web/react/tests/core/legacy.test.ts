import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Conversation, InterruptController } from "../../src/core/index.js";
import { legacyCommand, readLegacy } from "../../src/core/legacy.js";
import {
  approval,
  deferred,
  finished,
  heldRun,
  interrupted,
  run,
  refusal,
  ScriptedServer,
  type WireEvent,
} from "../wire.js";
import { flush } from "./rig.js";

const asks = (value: unknown): WireEvent => ({ type: "CUSTOM", name: "on_interrupt", value });
/** `RUN_FINISHED` as servers send it that know no outcome. */
const plain: WireEvent = { type: "RUN_FINISHED" };

function start(server: ScriptedServer) {
  const agent = server.agent();
  const controller = new InterruptController(agent);
  controller.subscribe(() => undefined);
  return { agent, controller, state: controller.getSnapshot };
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a question asked by a custom event alone", () => {
  it("[A2] is open as soon as the run has finished, while the body is still open", async () => {
    const hold = deferred();
    const server = new ScriptedServer().onRun(heldRun([asks("Which city?"), plain], hold.promise));
    const { controller, state } = start(server);
    const running = controller.runs.start("run");
    await flush();
    expect(state().status).toBe("awaiting");
    expect(state().interrupts[0]?.message).toBe("Which city?");
    hold.resolve();
    await running;
    expect(state().status).toBe("awaiting");
  });

  it("[F4] is answered in its own dialect, once, with the event as it came", async () => {
    const value = JSON.stringify(approval("a"));
    const server = new ScriptedServer().onRun(run(asks(value), plain), run(finished));
    const { controller, state } = start(server);
    await controller.runs.start("run");
    expect(state().interrupts[0]?.id).toBe("a");
    await Promise.all([controller.resolve({ approved: true }), controller.resolve({ no: 1 })]);
    expect(server.runs).toHaveLength(2);
    const { body } = server.runs[1]!;
    expect(body.forwardedProps).toEqual({
      command: { resume: { approved: true }, interruptEvent: value },
    });
    expect(body.resume).toBeUndefined();
    expect(state()).toMatchObject({ status: "idle", closed: [{ ending: "answered" }] });
  });

  it("[E4] [F1] is gone after its answer: the next run has no command and asks nothing", async () => {
    const server = new ScriptedServer().onRun(run(asks("Where?"), plain), run(plain), run(plain));
    const { controller, state } = start(server);
    await controller.runs.start("run");
    await controller.resolve("Paris");
    await controller.runs.start("run");
    expect(server.runs[2]?.body.forwardedProps).toEqual({});
    expect(state().status).toBe("idle");
  });

  it("is the last of several, and what is asked next is shown in turn", async () => {
    const server = new ScriptedServer().onRun(
      run(asks("one?"), asks("two?"), plain),
      run(asks("one?"), plain),
    );
    const { controller, state } = start(server);
    await controller.runs.start("run");
    expect(state().interrupts.map((interrupt) => interrupt.message)).toEqual(["two?"]);
    await controller.resolve("2");
    expect(state()).toMatchObject({ status: "awaiting", interrupts: [{ message: "one?" }] });
  });

  it("is put away by a cancel, without a request", async () => {
    const server = new ScriptedServer().onRun(run(asks("Where?"), plain));
    const { controller, state } = start(server);
    await controller.runs.start("run");
    await expect(controller.cancel()).resolves.toBeUndefined();
    expect(server.runs).toHaveLength(1);
    expect(state()).toMatchObject({
      status: "idle",
      closed: [{ answer: { status: "cancelled" } }],
    });
  });

  it("[CL-07] keeps its answer when sending fails, and sends the same again", async () => {
    const server = new ScriptedServer().onRun(
      run(asks("Where?"), plain),
      run(refusal("invalid_payload")),
      () => new Response("{}", { status: 503 }),
      run(finished),
    );
    const { controller, state } = start(server);
    await controller.runs.start("run");
    await controller.resolve("Paris");
    expect(state()).toMatchObject({ status: "failed", failure: { code: "invalid_payload" } });
    await controller.submit();
    await controller.submit();
    const [, first, second, third] = server.runs.map((run) => run.body.forwardedProps as unknown);
    expect([second, third]).toEqual([first, first]);
    expect(state().status).toBe("idle");
  });

  it("stays with its thread when another one is opened", async () => {
    const server = new ScriptedServer().onRun(run(asks("Where?"), plain), run(finished));
    const { agent, controller } = start(server);
    await controller.runs.start("run");
    await controller.switchThread("other");
    await controller.switchThread("thread-1");
    expect(agent.pendingInterrupts).toEqual([]);
    await controller.resolve("Paris");
    expect(server.runs[1]?.body.forwardedProps).toMatchObject({ command: { resume: "Paris" } });
  });

  it("[E9] is left by a message of its own, since the dialect cannot cancel", async () => {
    const server = new ScriptedServer()
      .onConnect(run(finished))
      .onRun(run(asks("Where?"), plain), run(finished));
    const { controller } = start(server);
    const conversation = new Conversation(controller);
    const close = conversation.open();
    await flush();
    conversation.send("go");
    await flush();
    await conversation.cancelAndSend("never mind");
    await flush();
    expect(server.runs[1]?.body.messages.at(-1)).toMatchObject({ content: "never mind" });
    expect(server.runs[1]?.body.forwardedProps).toEqual({});
    close();
  });
});

it("[F3] the same question through both channels is one question, answered the standard way", async () => {
  const server = new ScriptedServer().onRun(
    run(asks(JSON.stringify(approval("a"))), interrupted(approval("a"))),
    run(finished),
  );
  const { controller, state } = start(server);
  await controller.runs.start("run");
  expect(state().interrupts).toHaveLength(1);
  expect(controller.legacyOf("a")).toBeNull();
  await controller.resolve({ approved: true });
  expect(server.runs[1]?.body.resume).toHaveLength(1);
  expect(server.runs[1]?.body.forwardedProps).toEqual({});
});

describe("the value of the event", () => {
  it("is an interrupt as text or as object, or else the question itself", () => {
    const interrupt = approval("a");
    expect(readLegacy(JSON.stringify(interrupt), "r").interrupt).toEqual(interrupt);
    expect(readLegacy(interrupt, "r").interrupt).toEqual(interrupt);
    const raw = readLegacy("Which city?", "r");
    expect(raw.interrupt).toEqual({
      id: "legacy:r",
      reason: "input_required",
      message: "Which city?",
    });
    expect(readLegacy({ question: "Why?" }, "r").interrupt.message).toBe("Why?");
    expect(readLegacy({ rows: [1] }, "r").interrupt.message).toContain('"rows"');
    expect(readLegacy("123", "r").interrupt.message).toBe("123");
    expect(readLegacy({ id: "a", reason: 7 }, "r").interrupt.id).toBe("legacy:r");
  });

  it("[G2] goes back with any payload as it is; one that was not given is absent", () => {
    const question = readLegacy("?", "r");
    for (const payload of [false, 0, "", {}, [], null]) {
      const command = legacyCommand(question, { status: "resolved", payload });
      expect(command).toEqual({ command: { resume: payload, interruptEvent: "?" } });
    }
    const bare = legacyCommand(question, { status: "resolved" });
    expect(bare).toEqual({ command: { interruptEvent: "?" } });
  });
});
