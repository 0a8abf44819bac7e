// Our own client's core in the older dialect, against the demo: bundled from its sources.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";

import { bundleCore } from "./bundle.mjs";
import { startDemo, within } from "./demo.mjs";

let server, core, bundle;
before(async () => {
  bundle = await bundleCore();
  core = await import(pathToFileURL(bundle.file));
  server = await startDemo();
});
after(async () => {
  await server?.stop();
  await bundle?.remove();
});

// A page of the older dialect: its agent asks for the question by event alone.
function page(threadId = randomUUID(), mode = "legacy") {
  const agent = new core.SaysoAgent({ url: `${server.agentUrl}?interrupts=${mode}`, threadId });
  const controller = new core.InterruptController(agent);
  controller.subscribe(() => undefined);
  const state = () => controller.getSnapshot();
  return {
    threadId,
    agent,
    controller,
    state,
    say: (content) => {
      agent.addMessage({ id: randomUUID(), role: "user", content });
      return settled(controller.runs.start("run"), state);
    },
    load: () => settled(controller.connect(), state),
    resolve: (payload) => settled(controller.resolve(payload), state),
    effects: async () => (await server.effects(threadId)).map(({ kind }) => kind),
  };
}

const settled = (running, state) => within(running, () => JSON.stringify(state()));
const shown = ({ state }) => state().interrupts.map(({ id }) => id);

describe("the core of @sayso/react", () => {
  test("shows a question asked by event, and answers it the way it was asked [F4]", async () => {
    const tab = page();
    await tab.say("refund please");
    assert.equal(tab.state().status, "awaiting");
    assert.equal(tab.state().interrupts[0].reason, "tool_call");
    await tab.resolve({ approved: true });
    assert.equal(tab.state().status, "idle");
    assert.deepEqual(await tab.effects(), ["refund"]);
  });

  test("is asked for one after another [TR-28]", async () => {
    const tab = page();
    await tab.say("send the email");
    const seen = [];
    while (tab.state().status === "awaiting" && seen.length < 5) {
      seen.push(...shown(tab));
      await tab.resolve({ approved: true });
    }
    assert.equal(new Set(seen).size, 3);
    assert.deepEqual(await tab.effects(), ["email", "email", "email"]);
  });

  test("shows one card for two channels, and answers by the outcome [F3]", async () => {
    const tab = page(undefined, "both");
    await tab.say("refund please");
    assert.equal(shown(tab).length, 1);
    await tab.resolve({ approved: true });
    assert.equal(tab.state().status, "idle");
    assert.deepEqual(await tab.effects(), ["refund"]);
  });

  test("finds its question again after a reload, whichever dialect opened it", async () => {
    for (const [opened, answered] of [
      ["standard", "legacy"],
      ["legacy", "standard"],
      ["legacy", "legacy"],
    ]) {
      const first = page(undefined, opened);
      await first.say("refund please");
      const second = page(first.threadId, answered);
      await second.load();
      assert.deepEqual(shown(second), shown(first));
      await second.resolve({ approved: true });
      assert.deepEqual(await second.effects(), ["refund"]);
    }
  });
});
