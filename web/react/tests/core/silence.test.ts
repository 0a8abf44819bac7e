import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Conversation, Inbox, InterruptController, type Page } from "../../src/core/index.js";
import { InboxServer, listed } from "./inboxServer.js";
import {
  approval,
  finished,
  interrupted,
  run,
  ScriptedServer,
  snapshot,
  type Reply,
} from "../wire.js";

const pass = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);

/** A body that begins and never says anything again; only its reader can end it. */
function dead(comments = 0): Reply {
  return ({ body }) => {
    const { threadId, runId } = body;
    const text = new TextEncoder();
    const stream = new ReadableStream<Uint8Array>({
      start(out) {
        const event = { type: "RUN_STARTED", threadId, runId };
        out.enqueue(text.encode(`data: ${JSON.stringify(event)}\n\n`));
        for (let index = 1; index <= comments; index += 1) {
          setTimeout(() => {
            out.enqueue(text.encode(":\n\n"));
          }, index * 15_000);
        }
      },
    });
    return new Response(stream, { headers: { "content-type": "text/event-stream" } });
  };
}

/** A page that one can return to. */
function returning() {
  const callbacks = new Set<() => void>();
  const page: Page = {
    hidden: () => false,
    onReturn: (callback) => {
      callbacks.add(callback);
      return () => callbacks.delete(callback);
    },
  };
  const back = () => {
    for (const callback of [...callbacks]) callback();
  };
  return { page, back };
}

function controlled(server: ScriptedServer) {
  const { page, back } = returning();
  const controller = new InterruptController(server.agent(), { page });
  controller.subscribe(() => undefined);
  return { controller, page, back, state: () => controller.getSnapshot() };
}

const paths = (server: ScriptedServer) => server.received.map((received) => received.path);
const asks = run(...snapshot(), interrupted(approval("a")));

beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse("2026-01-01T00:00:00Z") });
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a stream that dies without a word", () => {
  it("of a run is looked behind: the question that waits is there", async () => {
    const server = new ScriptedServer().onRun(dead()).onConnect(asks);
    const { controller, state } = controlled(server);
    void controller.runs.start("run");
    await pass(44_900);
    expect(paths(server)).toEqual(["/agents/ops"]);
    await pass(200);
    expect(paths(server)).toEqual(["/agents/ops", "/agents/ops/connect"]);
    expect(state()).toMatchObject({ status: "awaiting", interrupts: [{ id: "a" }] });
  });

  it("lives as long as the server says that it is there", async () => {
    const server = new ScriptedServer().onRun(dead(8)).onConnect(asks);
    const { controller } = controlled(server);
    void controller.runs.start("run");
    await pass(164_000);
    expect(paths(server)).toEqual(["/agents/ops"]);
    await pass(2000);
    expect(paths(server)).toEqual(["/agents/ops", "/agents/ops/connect"]);
  });

  it("of answers keeps them; what was taken is not sent again", async () => {
    const server = new ScriptedServer().onRun(asks, dead()).onConnect(run(finished));
    const { controller, state } = controlled(server);
    await controller.runs.start("run");
    void controller.resolve({ approved: true });
    await pass(45_100);
    expect(paths(server)).toEqual(["/agents/ops", "/agents/ops", "/agents/ops/connect"]);
    expect(state()).toMatchObject({ status: "idle", closed: [{ ending: "answered" }] });
  });

  it("of answers that never arrived leaves them to be sent, as they are", async () => {
    const server = new ScriptedServer().onRun(asks, dead(), run(finished)).onConnect(asks);
    const { controller, state } = controlled(server);
    await controller.runs.start("run");
    void controller.resolve({ approved: true });
    await pass(45_100);
    expect(state()).toMatchObject({
      status: "failed",
      failure: { kind: "silent" },
      answers: { a: { payload: { approved: true } } },
    });
    await controller.submit();
    const sent = server.runs.slice(1).map(({ body }) => body.resume);
    expect(sent[0]).toEqual(sent[1]);
    expect(state().status).toBe("idle");
  });

  it("of a look is looked behind as well", async () => {
    const server = new ScriptedServer().onConnect(dead(), dead(), asks);
    const { controller, state } = controlled(server);
    void controller.connect();
    await pass(90_500);
    expect(paths(server)).toHaveLength(3);
    expect(state().interrupts).toHaveLength(1);
  });

  it("is not waited for by who returns to the page", async () => {
    const server = new ScriptedServer().onRun(dead()).onConnect(asks);
    const { controller, state, back } = controlled(server);
    void controller.runs.start("run");
    await pass(19_000);
    back();
    await pass(10);
    expect(paths(server)).toEqual(["/agents/ops"]);
    await pass(1500);
    back();
    await pass(10);
    expect(state()).toMatchObject({ status: "awaiting", interrupts: [{ id: "a" }] });
  });

  it("of a message in a chat keeps it, and shows the thread as it stands", async () => {
    const said = { id: "m", role: "user", content: "go" };
    const server = new ScriptedServer().onConnect(run(...snapshot(), finished)).onRun(dead());
    const { controller, page } = controlled(server);
    let count = 0;
    const newId = () => (count++ === 0 ? "m" : `r${count}`);
    const chat = new Conversation(controller, { page, newId });
    const close = chat.open();
    await pass(10);
    server.onConnect(run(...snapshot([said]), interrupted(approval("a"))));
    chat.send("go");
    await pass(45_100);
    expect(chat.getSnapshot()).toMatchObject({
      messages: [said],
      unsent: null,
      connection: { status: "ready" },
    });
    expect(server.runs).toHaveLength(1);
    close();
  });

  it("of the inbox is opened anew, at once for who returns", async () => {
    const server = new InboxServer();
    const { page, back } = returning();
    const inbox = new Inbox({ url: "http://sayso.test/", fetch: server.fetch, page });
    const close = inbox.open();
    await pass(10);
    server.items = [listed("a")];
    await pass(30_000);
    back();
    await pass(10);
    expect(inbox.getSnapshot().items).toHaveLength(1);
    server.items = [listed("a"), listed("b")];
    await pass(45_100);
    expect(inbox.getSnapshot()).toMatchObject({
      connection: { status: "ready" },
      items: [{ interrupt: { id: "a" } }, { interrupt: { id: "b" } }],
    });
    close();
  });
});
