import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Conversation, InterruptController } from "../../src/core/index.js";
import {
  approval,
  deferred,
  finished,
  heldRun,
  interrupted,
  run,
  refusal,
  says,
  ScriptedServer,
  snapshot,
} from "../wire.js";

interface Rig {
  readonly conversation: Conversation;
  readonly close: () => void;
  readonly returns: () => void;
  readonly page: { hidden: boolean };
}

function live(server: ScriptedServer): Rig {
  const controller = new InterruptController(server.agent());
  const page = { hidden: false };
  let back: () => void = () => undefined;
  const conversation = new Conversation(controller, {
    page: {
      hidden: () => page.hidden,
      onReturn: (callback) => {
        back = callback;
        return () => {
          back = () => undefined;
        };
      },
    },
  });
  return {
    conversation,
    close: conversation.open(),
    page,
    returns: () => {
      back();
    },
  };
}

const user = (id: string, content: string) => ({ id, role: "user", content });
const pass = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);
const broken = () => Promise.reject(new TypeError("Failed to fetch"));
const status = (rig: Rig) => rig.conversation.controller.getSnapshot().status;
const texts = (rig: Rig) =>
  rig.conversation.getSnapshot().messages.map((message) => message.content);

beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse("2026-01-01T00:00:00Z") });
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a thread that is opened", () => {
  it("[A1] restores messages, state and open questions, and takes no message while one is open", async () => {
    const server = new ScriptedServer().onConnect(
      run(
        { type: "STATE_SNAPSHOT", snapshot: { order: "A-17" } },
        { type: "MESSAGES_SNAPSHOT", messages: [user("u1", "refund")] },
        interrupted(approval("a")),
      ),
    );
    const rig = live(server);
    expect(rig.conversation.getSnapshot().connection.status).toBe("loading");
    await pass(1);
    expect(rig.conversation.getSnapshot()).toMatchObject({
      messages: [{ id: "u1" }],
      agentState: { order: "A-17" },
      connection: { status: "ready" },
    });
    expect(rig.conversation.send("more")).toBe("blocked");
    expect(server.runs).toEqual([]);
  });

  it("[CL-10] follows a run that is already going on", async () => {
    const hold = deferred();
    const server = new ScriptedServer().onConnect(
      heldRun(snapshot([user("u1", "slow")]), hold.promise, [...says("m1", "done"), finished]),
    );
    const rig = live(server);
    await pass(600);
    expect(status(rig)).toBe("running");
    expect(rig.conversation.send("next")).toBe("queued");
    server.onRun(run(...says("m2", "ok"), finished));
    hold.resolve();
    await pass(50);
    expect(texts(rig)).toEqual(["slow", "done", "next", "ok"]);
  });
});

describe("before the first look has told how a thread stands", () => {
  it("[E7] keeps what is written, and sends it once the run that it found is over", async () => {
    const hold = deferred();
    const server = new ScriptedServer().onConnect(
      heldRun(snapshot([user("u1", "slow")]), hold.promise, [...says("m1", "done"), finished]),
    );
    const rig = live(server);
    expect(rig.conversation.send("early")).toBe("queued");
    await pass(100);
    expect(rig.conversation.send("next")).toBe("queued");
    server.onRun(run(...says("m2", "ok"), finished), run(...says("m3", "ok"), finished));
    expect(server.runs).toEqual([]);
    hold.resolve();
    await pass(50);
    expect(texts(rig)).toEqual(["slow", "done", "early", "ok", "next", "ok"]);
    expect(rig.conversation.getSnapshot().connection.status).toBe("ready");
  });

  it("sends it at once when nothing is going on there", async () => {
    const server = new ScriptedServer().onConnect(run(...snapshot(), finished));
    const rig = live(server);
    server.onRun(run(...says("m1", "hello"), finished));
    expect(rig.conversation.send("hi")).toBe("queued");
    await pass(1);
    expect(texts(rig)).toEqual(["hi", "hello"]);
  });

  it("keeps it while the server is away, and while a question turns out to be open", async () => {
    const server = new ScriptedServer().onConnect(
      broken,
      run(...snapshot(), interrupted(approval("a"))),
    );
    const rig = live(server);
    expect(rig.conversation.send("hi")).toBe("queued");
    await pass(1);
    expect(rig.conversation.getSnapshot().connection.status).toBe("lost");
    await pass(1000);
    expect(status(rig)).toBe("awaiting");
    expect(rig.conversation.getSnapshot().queued).toEqual(["hi"]);
    expect(server.runs).toEqual([]);
  });

  it("is looked at again when a page lets go and comes back in the same moment", async () => {
    const server = new ScriptedServer().onConnect(run(...snapshot([user("u1", "hi")]), finished));
    const rig = live(server);
    rig.close();
    rig.conversation.open();
    await pass(1);
    expect(texts(rig)).toEqual(["hi"]);
    expect(rig.conversation.getSnapshot().connection.status).toBe("ready");
  });
});

describe("sending", () => {
  async function ready(server = new ScriptedServer()): Promise<Rig & { server: ScriptedServer }> {
    server.onConnect(run(...snapshot(), finished));
    const rig = live(server);
    await pass(1);
    return { ...rig, server };
  }

  it("[E7] queues what is written during a run and sends it afterwards, one after another", async () => {
    const rig = await ready();
    const hold = deferred();
    rig.server.onRun(
      heldRun(says("m1", "a"), hold.promise, [finished]),
      run(...says("m2", "b"), finished),
      run(...says("m3", "c"), finished),
    );
    expect(rig.conversation.send("one")).toBe("sent");
    await pass(1);
    expect(rig.conversation.send("two")).toBe("queued");
    expect(rig.conversation.send("three")).toBe("queued");
    expect(rig.server.runs).toHaveLength(1);
    hold.resolve();
    await pass(50);
    expect(texts(rig)).toEqual(["one", "a", "two", "b", "three", "c"]);
    expect(rig.conversation.getSnapshot().queued).toEqual([]);
  });

  it("gives a queued text back", async () => {
    const rig = await ready();
    rig.server.onRun(heldRun(says("m1", "a"), deferred().promise));
    rig.conversation.send("one");
    await pass(1);
    rig.conversation.send("two");
    expect(rig.conversation.removeQueued(0)).toBe("two");
    expect(rig.conversation.getSnapshot().queued).toEqual([]);
  });

  it("[E4] [CL-11] holds a queued text while a question is open, then sends it without a resume", async () => {
    const rig = await ready();
    const hold = deferred();
    rig.server.onRun(
      heldRun(says("m1", "a"), hold.promise, [interrupted(approval("q"))]),
      run(...says("m2", "b"), finished),
      run(...says("m3", "c"), finished),
    );
    rig.conversation.send("one");
    await pass(1);
    rig.conversation.send("later");
    hold.resolve();
    await pass(50);
    expect(status(rig)).toBe("awaiting");
    expect(rig.server.runs).toHaveLength(1);
    await rig.conversation.controller.resolve({ approved: true });
    await pass(50);
    expect(rig.server.runs[1]?.body.resume).toHaveLength(1);
    expect(rig.server.runs[2]?.body.resume).toBeUndefined();
    expect(texts(rig)).toEqual(["one", "a", "b", "later", "c"]);
  });

  it("[E9] [RE-09] steers away: cancels what is open and sends the text in one request", async () => {
    const rig = await ready();
    rig.server.onRun(run(interrupted(approval("a"), approval("b"))), run(finished));
    rig.conversation.send("one");
    await pass(20);
    await rig.conversation.cancelAndSend("never mind");
    const { body } = rig.server.runs[1]!;
    expect(body.resume?.map((resumeEntry) => resumeEntry.status)).toEqual([
      "cancelled",
      "cancelled",
    ]);
    expect(body.messages.at(-1)).toMatchObject({ role: "user", content: "never mind" });
  });

  it("keeps a message that did not arrive and repeats the very same request", async () => {
    const rig = await ready();
    rig.server.onRun(broken, run(...says("m1", "a"), finished));
    rig.conversation.send("one");
    await pass(1);
    const { unsent, messages } = rig.conversation.getSnapshot();
    expect(unsent).toMatchObject({ text: "one", failure: { kind: "network" } });
    expect(messages).toEqual([]);
    await pass(1000);
    expect(rig.conversation.getSnapshot().unsent).not.toBeNull();
    rig.conversation.resend();
    await pass(50);
    const [first, second] = rig.server.runs;
    expect(second?.body.runId).toBe(first?.body.runId);
    expect(second?.body.messages.at(-1)?.id).toBe(first?.body.messages.at(-1)?.id);
    expect(texts(rig)).toEqual(["one", "a"]);
  });

  it("drops the copy it kept when the server has the message after all", async () => {
    const rig = await ready();
    rig.server.onRun(broken);
    rig.conversation.send("one");
    await pass(1);
    const id = rig.conversation.getSnapshot().unsent!.id;
    rig.server.onConnect(run(...snapshot([user(id, "one")]), finished));
    await pass(2000);
    rig.returns();
    await pass(50);
    expect(rig.conversation.getSnapshot()).toMatchObject({ unsent: null, messages: [{ id }] });
  });

  it("[E1] keeps a refused message, and shows the question the server spoke of", async () => {
    const server = new ScriptedServer().onConnect(run(...snapshot(), finished));
    const rig = live(server);
    await pass(1);
    server.onRun(run(refusal("interrupts_pending")));
    server.onConnect(run(...snapshot(), interrupted(approval("a"))));
    rig.conversation.send("one");
    await pass(50);
    rig.conversation.refresh();
    await pass(50);
    expect(rig.conversation.getSnapshot().unsent).toMatchObject({
      text: "one",
      failure: { code: "interrupts_pending" },
    });
    expect(status(rig)).toBe("awaiting");
    expect(rig.conversation.discardUnsent()).toBe("one");
  });
});

describe("a server that goes away", () => {
  it("is tried again with growing waits until it is back, and the question is shown again", async () => {
    const server = new ScriptedServer().onConnect(
      run(...snapshot(), interrupted(approval("a"))),
      broken,
      broken,
      run(...snapshot(), interrupted(approval("a"))),
    );
    const rig = live(server);
    await pass(1);
    rig.returns();
    await pass(1);
    expect(rig.conversation.getSnapshot().connection).toMatchObject({ status: "lost" });
    expect(status(rig)).toBe("awaiting");
    await pass(500);
    expect(server.received).toHaveLength(3);
    await pass(900);
    expect(server.received).toHaveLength(3);
    await pass(200);
    expect(server.received).toHaveLength(4);
    expect(rig.conversation.getSnapshot().connection).toEqual({ status: "ready" });
    expect(status(rig)).toBe("awaiting");
  });

  it("in the middle of a run is asked how the run ended", async () => {
    const server = new ScriptedServer().onConnect(run(...snapshot(), finished));
    const rig = live(server);
    await pass(1);
    server.onRun(({ body }) => {
      const ids = { threadId: body.threadId, runId: body.runId };
      const text = `data: ${JSON.stringify({ type: "RUN_STARTED", ...ids })}\n\n`;
      const stream = new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode(text));
        },
        pull(controller) {
          controller.error(new TypeError("network error"));
        },
      });
      return new Response(stream, { headers: { "content-type": "text/event-stream" } });
    });
    rig.conversation.send("one");
    await pass(20);
    expect(rig.conversation.getSnapshot().connection.status).toBe("lost");
    await pass(1000);
    expect(rig.conversation.getSnapshot().connection.status).toBe("ready");
    expect(status(rig)).toBe("idle");
  });
});

describe("other people", () => {
  it("[Q4] are noticed by looking from time to time while the page is seen and a question is open", async () => {
    const server = new ScriptedServer().onConnect(
      run(...snapshot(), interrupted(approval("a"))),
      run(...snapshot(), finished),
    );
    const rig = live(server);
    await pass(1);
    rig.page.hidden = true;
    await pass(20_000);
    expect(server.received).toHaveLength(1);
    rig.page.hidden = false;
    await pass(10_000);
    expect(status(rig)).toBe("stale");
    await pass(60_000);
    expect(server.received).toHaveLength(2);
  });

  it("are noticed at once when the page is returned to", async () => {
    const server = new ScriptedServer().onConnect(
      run(...snapshot(), interrupted(approval("a"))),
      run(...snapshot(), finished),
    );
    const rig = live(server);
    await pass(1);
    rig.returns();
    await pass(1);
    expect(status(rig)).toBe("stale");
  });
});

describe("steps", () => {
  it("that a question interrupted go on as one", async () => {
    const server = new ScriptedServer().onConnect(run(...snapshot(), finished));
    const rig = live(server);
    await pass(1);
    const started = { type: "STEP_STARTED", stepName: "collect" };
    const ended = { type: "STEP_FINISHED", stepName: "collect" };
    server.onRun(
      run(started, ...says("m1", "a"), ended, interrupted(approval("q"))),
      run(started, ...says("m2", "b"), ended, finished),
    );
    rig.conversation.send("go");
    await pass(50);
    expect(rig.conversation.getSnapshot().steps).toMatchObject([{ status: "paused" }]);
    await rig.conversation.controller.resolve({ approved: true });
    await pass(50);
    expect(rig.conversation.getSnapshot().steps).toMatchObject([
      { name: "collect", status: "done" },
    ]);
  });
});

it("leaves no timer and no subscriber behind when it is closed", async () => {
  const server = new ScriptedServer().onConnect(run(...snapshot(), interrupted(approval("a"))));
  const rig = live(server);
  await pass(1);
  expect(rig.conversation.controller.agent.subscribers).not.toHaveLength(0);
  rig.close();
  await pass(1);
  expect(rig.conversation.controller.agent.subscribers).toHaveLength(0);
  expect(vi.getTimerCount()).toBe(0);
});

it("keeps the identity of messages that did not change", async () => {
  const server = new ScriptedServer().onConnect(run(...snapshot([user("u1", "one")]), finished));
  const rig = live(server);
  await pass(1);
  const [before] = rig.conversation.getSnapshot().messages;
  server.onRun(run(...says("m1", "a"), finished));
  rig.conversation.send("two");
  await pass(50);
  expect(rig.conversation.getSnapshot().messages[0]).toBe(before);
});
