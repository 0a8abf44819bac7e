import { describe, expect, it } from "vitest";
import { Inbox, inboxView, InterruptController, viewOf } from "../../src/core/index.js";
import { InboxServer, listed } from "./inboxServer.js";
import { approval, finished, interrupted, run, ScriptedServer, snapshot } from "../wire.js";

describe.each(["__proto__", "toString", "constructor"])("a question with the id %s", (id) => {
  it("is open until it is answered, and answered then", async () => {
    const server = new ScriptedServer().onRun(
      run(...snapshot(), interrupted(approval(id), approval("b"))),
      run(finished),
    );
    const controller = new InterruptController(server.agent());
    controller.subscribe(() => undefined);
    await controller.runs.start("run");
    expect(viewOf(controller.getSnapshot(), id)).toMatchObject({ phase: "open", asked: 1 });
    await controller.resolve({ approved: true }, "b");
    expect(server.runs).toHaveLength(1);
    await controller.resolve({ approved: false }, id);
    expect(server.runs[1]?.body.resume).toMatchObject([
      { interruptId: id, payload: { approved: false } },
      { interruptId: "b", payload: { approved: true } },
    ]);
  });

  it("is open in the inbox", async () => {
    const server = new InboxServer();
    server.items = [listed(id)];
    const inbox = new Inbox({ url: "http://sayso.test/", fetch: server.fetch });
    const close = inbox.open();
    await expect.poll(() => inbox.getSnapshot().items.length).toBe(1);
    const view = inboxView(inbox.getSnapshot(), id, inbox.clock());
    expect(view).toMatchObject({ phase: "open", answer: null, problems: [] });
    close();
  });
});

it("an inbox is made where there is no page, as on a server", () => {
  const { location } = globalThis;
  Reflect.deleteProperty(globalThis, "location");
  try {
    expect(new Inbox({ url: "/" }).getSnapshot().connection.status).toBe("loading");
  } finally {
    Object.defineProperty(globalThis, "location", { value: location, configurable: true });
  }
});
