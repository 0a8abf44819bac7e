// Everything that an author can send, read by both official clients without a word of complaint.
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";

import { serve } from "./demo.mjs";
import { approve, CLIENTS, Thread } from "./thread.mjs";

let child;
let server;
before(async () => {
  const app = fileURLToPath(new URL("surface.py", import.meta.url));
  const started = await serve("python", [app]);
  child = started.child;
  server = { url: started.url, agentUrl: `${started.url}/agents/surface` };
});
after(async () => {
  if (child === undefined || child.exitCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGTERM");
  await gone;
});

const TEXT = "Sales of 2025";
const IMAGE = {
  type: "image",
  source: { type: "data", value: "iVBO", mimeType: "image/png" },
};
const CONTENT = { "1.0.0": [{ type: "text", text: TEXT }, IMAGE], "0.0.59": TEXT };

for (const client of CLIENTS) {
  describe(`@ag-ui/client ${client.version}`, () => {
    const begin = () => new Thread(client, server);
    const of = (thread, role) => thread.messages.filter((message) => message.role === role);

    test("keeps thoughts with their seals and sends them back [RS-01, RS-03, RS-04]", async () => {
      const thread = begin();
      await thread.say("go");
      const [thought] = of(thread, "reasoning");
      assert.equal(thought.content, "Two ways.");
      assert.equal(thought.encryptedValue, "seal-0");
      await thread.resume(approve());
      await thread.assertInStep();
      await thread.say("again");
      await thread.resume(approve());
      assert.match(thread.texts.at(-1), /\['seal-0'\]/);
      await thread.assertInStep();
    });

    test("shows activities as they change [AC-01, AC-02, MS-07]", async () => {
      const thread = begin();
      await thread.say("go");
      assert.deepEqual(of(thread, "activity")[0].content, { steps: ["look", "ask"] });
      await thread.resume(approve());
      assert.deepEqual(of(thread, "activity")[0].content, { done: true });
      await thread.say("again");
      const activities = of(thread, "activity");
      const settled = activities.find(({ activityType }) => activityType === "sayso:settled");
      assert.equal(settled.content.sentence, 'Asked "Go on?", local answered: yes.');
      assert.deepEqual(
        activities.filter((message) => message !== settled).map(({ content }) => content),
        [{ done: true }, { steps: ["look", "ask"] }],
      );
      await thread.assertInStep();
    });

    test("gets content parts only if it can read them [TC-06, TC-07, VN-07]", async () => {
      const thread = begin();
      const run = await thread.say("go");
      const result = run.events.find(({ type }) => type === "TOOL_CALL_RESULT");
      assert.deepEqual(result.content, CONTENT[client.version]);
      assert.deepEqual(of(thread, "tool")[0].content, CONTENT[client.version]);
      await thread.assertInStep();
    });

    test("is told what each run cost [US-01, US-05]", async () => {
      const thread = begin();
      const names = { provider: "acme", model: "large" };
      const first = await thread.say("go");
      assert.deepEqual(first.last.usage, [
        { ...names, inputTokens: 10, outputTokens: 5, reasoningTokens: 2, totalTokens: 15 },
      ]);
      const second = await thread.resume(approve());
      assert.deepEqual(second.last.usage, [{ ...names, inputTokens: 1 }]);
    });

    test("passes events of an author's own on [PT-01, PT-03]", async () => {
      const run = await begin().say("go");
      const custom = run.events.find(({ type }) => type === "CUSTOM");
      assert.deepEqual([custom.name, custom.value], ["shop:stock", null]);
    });

    test("keeps the metadata of a message [MD-01, MD-02]", async () => {
      const thread = begin();
      await thread.say("go");
      await thread.resume(approve());
      const shown = await thread.stored();
      assert.deepEqual(of(shown, "assistant").at(-1).metadata, { badge: { n: null } });
      assert.deepEqual(of(shown, "reasoning")[0].metadata, { k: null });
    });
  });
}
