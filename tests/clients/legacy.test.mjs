// The official clients in the older dialect: asked by `on_interrupt`, answering in `forwardedProps`.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { startDemo } from "./demo.mjs";
import { LegacyThread } from "./older.mjs";
import { approve, CLIENTS, Thread } from "./thread.mjs";

let server;
before(async () => {
  server = await startDemo();
});
after(() => server?.stop());

const idOf = (value) => JSON.parse(value).id;
const kinds = (effects) => effects.map(({ kind }) => kind);

for (const client of CLIENTS) {
  describe(`@ag-ui/client ${client.version}`, () => {
    const begin = (mode) => new LegacyThread(client, server, { mode });

    test("is asked by event and approves, once [LG-01, LG-04, LG-14]", async () => {
      const thread = begin();
      const run = await thread.say("refund please");
      assert.equal(run.last.outcome, undefined);
      assert.deepEqual(run.types.slice(-2), ["CUSTOM", "RUN_FINISHED"]);
      assert.deepEqual(thread.pending, []);
      const { question } = thread;
      const answered = await thread.reply({ approved: true });
      assert.equal(answered.last.outcome.type, "success");
      assert.deepEqual(thread.asked, []);
      // The same again, and by a hook that hands the value on parsed: no second effect.
      for (const event of [question, JSON.parse(question)]) {
        assert.equal((await thread.reply({ approved: true }, event)).error, undefined);
      }
      assert.deepEqual(kinds(await thread.effects()), ["refund"]);
      await thread.assertInStep();
    });

    test("is asked for one after another [LG-11, TR-28]", async () => {
      const thread = begin();
      await thread.say("send the email");
      const ids = thread.asked.map(idOf);
      assert.equal(ids.length, 3);
      for (const left of [2, 1]) {
        await thread.reply({ approved: left === 2 });
        assert.deepEqual(thread.asked.map(idOf), ids.slice(0, left));
        assert.deepEqual(await thread.effects(), []);
      }
      await thread.reply('{"approved": true}');
      assert.deepEqual((await thread.effects()).map(({ args }) => args.to).sort(), [
        "ada@example.com",
        "everyone@example.com",
      ]);
      await thread.assertInStep();
    });

    test("means what it says: null, falsy and text that reads like JSON [LG-05, LG-06]", async () => {
      for (const [payload, said] of [
        [undefined, /Nameless/],
        [null, /Nameless/],
        ["", /Hello, !/],
        ["123", /Hello, 123!/],
        ["null", /Hello, null!/],
      ]) {
        const thread = begin();
        await thread.say("nickname");
        await thread.reply(payload);
        assert.match(thread.texts.at(-1), said);
        await thread.assertInStep();
      }
    });

    test("finds its question again after a reload, and after a refused answer", async () => {
      const thread = begin();
      await thread.say("quarterly");
      const { question } = thread;
      const fresh = thread.reloaded("/connect");
      await fresh.run();
      assert.equal(fresh.question, question);
      const refused = await thread.reply({ quarter: "Q7", year: 1999, revenue: 1 });
      assert.equal(refused.error.code, "invalid_payload");
      assert.equal(thread.question, undefined);
      await thread.say("what was it?");
      assert.equal(idOf(thread.question), idOf(question));
      await thread.reply({ quarter: "Q3", year: 2026, revenue: 1e6 });
      assert.deepEqual(kinds(await thread.effects()), ["filing"]);
      // The client keeps what was typed where it was typed; it had its turn all the same.
      assert.match(thread.texts.at(-1), /did not understand/);
    });

    test("blocks its own legacy answer once it was told the outcome [LG-12, TR-29]", async () => {
      const thread = begin("both");
      const run = await thread.say("refund please");
      assert.equal(run.last.outcome.type, "interrupt");
      assert.deepEqual(thread.asked.map(JSON.parse), run.last.outcome.interrupts);
      await assert.rejects(thread.reply({ approved: true }), /resume/);
      assert.deepEqual(await thread.effects(), []);
      await thread.resume(approve());
      assert.deepEqual(kinds(await thread.effects()), ["refund"]);
      await thread.assertInStep();
    });

    test("answers what was asked in the other dialect, both ways [LG-14]", async () => {
      const modern = new Thread(client, server);
      await modern.say("refund please");
      const tab = new LegacyThread(client, server, {
        threadId: modern.threadId,
        path: "/connect",
      });
      await tab.run();
      tab.agent.url = `${server.agentUrl}?interrupts=legacy`;
      await tab.reply({ approved: true });
      assert.deepEqual(kinds(await modern.effects()), ["refund"]);
      await tab.assertInStep();

      const old = begin();
      await old.say("refund please");
      const shown = await new Thread(client, server, { threadId: old.threadId }).stored();
      shown.agent.url = server.agentUrl;
      await shown.resume(approve());
      assert.deepEqual(kinds(await old.effects()), ["refund"]);
      await shown.assertInStep();
    });

    test("is still asked after the server was killed", async () => {
      const thread = begin();
      await thread.say("deploy");
      const first = thread.question;
      await server.kill();
      await server.restart();
      await thread.reply({ approved: true }, first);
      assert.notEqual(idOf(thread.question), idOf(first));
      await thread.reply({ approved: true, note: "go" });
      assert.deepEqual(kinds(await thread.effects()), ["deploy"]);
      await thread.assertInStep();
    });
  });
}
