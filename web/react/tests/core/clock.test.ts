import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Inbox, inboxView, InterruptController, viewOf } from "../../src/core/index.js";
import { ServerClock } from "../../src/core/serverClock.js";
import { InboxServer, listed } from "./inboxServer.js";
import { approval, finished, interrupted, run, ScriptedServer, snapshot } from "../wire.js";

const SERVER = Date.parse("2026-01-01T00:00:00Z");
const MINUTE = 60_000;
const until = new Date(SERVER + 5 * MINUTE).toISOString();

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A reply of a server that says what time it is there. */
const at = (time: number, ...events: Parameters<typeof run>) =>
  ((received) => {
    const { threadId, runId } = received.body;
    const begun = { type: "RUN_STARTED", threadId, runId, timestamp: time };
    const last = events.map((wireEvent) =>
      wireEvent.type === "RUN_FINISHED" ? { ...wireEvent, threadId, runId } : wireEvent,
    );
    const text = [begun, ...last].map((item) => `data: ${JSON.stringify(item)}\n\n`).join("");
    return new Response(text, { headers: { "content-type": "text/event-stream" } });
  }) satisfies Parameters<ScriptedServer["onRun"]>[0];

describe("[EX-07] a clock that is wrong", () => {
  it.each([10, -10])("by %i minutes hides no question and lends no time", async (minutes) => {
    vi.setSystemTime(SERVER + minutes * MINUTE);
    const asks = interrupted(approval("a", { expiresAt: until }));
    const server = new ScriptedServer().onRun(at(SERVER, ...snapshot(), asks), run(finished));
    const controller = new InterruptController(server.agent());
    controller.subscribe(() => undefined);
    await controller.runs.start("run");
    expect(controller.clock()).toBe(SERVER);
    expect(viewOf(controller.getSnapshot(), "a")?.phase).toBe("open");
    await vi.advanceTimersByTimeAsync(4.9 * MINUTE);
    expect(viewOf(controller.getSnapshot(), "a")?.phase).toBe("open");
    await controller.resolve({ approved: true });
    expect(server.runs).toHaveLength(2);
  });

  it.each([10, -10])(
    "by %i minutes is known to the inbox from the first answer",
    async (minutes) => {
      vi.setSystemTime(SERVER + minutes * MINUTE);
      const server = new InboxServer();
      const createdAt = new Date(SERVER).toISOString();
      server.items = [listed("a", { expiresAt: until, createdAt })];
      const fetch: typeof globalThis.fetch = async (...request) => {
        const response = await server.fetch(...request);
        response.headers.set("date", new Date(SERVER).toUTCString());
        return response;
      };
      const inbox = new Inbox({ url: "http://sayso.test/", fetch });
      const close = inbox.open();
      await vi.advanceTimersByTimeAsync(10);
      expect(Math.abs(inbox.clock() - SERVER)).toBeLessThan(1100);
      const view = inboxView(inbox.getSnapshot(), "a", inbox.clock());
      expect(view).toMatchObject({ phase: "open", askedAt: SERVER });
      close();
    },
  );

  it("that goes on while a laptop sleeps is still right", () => {
    vi.setSystemTime(SERVER - 10 * MINUTE);
    const clock = new ServerClock();
    clock.heard(SERVER);
    vi.setSystemTime(SERVER + 50 * MINUTE);
    expect(clock.now()).toBe(SERVER + 60 * MINUTE);
  });

  it("is not moved by what fits a time that is told in whole seconds, or by no time", () => {
    vi.setSystemTime(SERVER + 400);
    const clock = new ServerClock();
    clock.heard(SERVER, 1000);
    clock.heard(NaN);
    expect(clock.now()).toBe(SERVER + 400);
    clock.heard(SERVER + 1000, 1000);
    expect(clock.now()).toBe(SERVER + 1000);
  });
});
