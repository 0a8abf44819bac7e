// Clients come and go, the server dies: the thread is what it was.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { startDemo } from "./demo.mjs";
import { approve, cancel, CLIENTS, deny, Thread } from "./thread.mjs";

let server;
before(async () => {
  server = await startDemo();
});
after(() => server?.stop());

const entriesOf = (thread, answer) =>
  thread.pending.map(({ id }) => ({ interruptId: id, ...answer }));

for (const client of CLIENTS) {
  describe(`@ag-ui/client ${client.version}`, () => {
    const begin = () => new Thread(client, server);

    test("answers after a reload, knowing nothing but the id [MS-01, RE-19]", async () => {
      const thread = begin();
      await thread.say("refund please");
      const fresh = thread.reloaded();
      const run = await fresh.run({ resume: entriesOf(thread, approve()) });
      assert.equal(run.last.outcome.type, "success");
      assert.equal(fresh.messages[0].content, "refund please");
      assert.equal((await thread.effects()).length, 1);
      await fresh.assertInStep();
    });

    test("finds the open questions by connecting, and answers them", async () => {
      const thread = begin();
      await thread.say("send the email");
      const shown = await thread.stored();
      assert.deepEqual(shown.pending, thread.pending);
      assert.deepEqual(shown.messages, thread.messages);
      shown.agent.url = server.agentUrl;
      await shown.resume(approve(), approve(), deny());
      assert.equal((await thread.effects()).length, 2);
      await shown.assertInStep();
    });

    test("is told who decided when another tab was faster [ID-06]", async () => {
      const thread = begin();
      await thread.say("refund please");
      const other = thread.reloaded();
      await other.run({ resume: entriesOf(thread, deny()) });
      const late = await thread.resume(approve());
      assert.equal(late.error.code, "already_resolved");
      assert.equal(late.error.metadata.sayso.interrupts[0].by, "local");
      assert.deepEqual(await thread.effects(), []);
    });

    test("aborts a run and finds its end afterwards [ER-13]", async () => {
      const thread = begin();
      await thread.say("slow refund");
      const entries = entriesOf(thread, approve());
      const aborted = await thread.run({ resume: entries }, (event) => {
        if (event.type === "TOOL_CALL_RESULT") thread.agent.abortRun();
      });
      assert.equal(aborted.error.code, "abort");
      const run = await thread.run({ resume: entries });
      assert.equal(run.last.outcome.type, "success");
      assert.deepEqual(
        (await thread.effects()).map(({ kind }) => kind),
        ["refund", "slow"],
      );
      await thread.assertInStep();
    });

    test("follows a run that is going on", async () => {
      const thread = begin();
      const fresh = thread.reloaded("/connect");
      let following;
      await thread.say("slow", {}, ({ type }) => {
        if (type === "TEXT_MESSAGE_END") following ??= fresh.run();
      });
      assert.equal((await following).last.outcome.type, "success");
      assert.deepEqual(fresh.texts, thread.texts);
    });

    test("answers after the server was killed and started again", async () => {
      const thread = begin();
      await thread.say("send the email");
      await server.kill();
      await server.restart();
      const shown = await thread.stored();
      assert.deepEqual(shown.pending, thread.pending);
      await thread.resume(approve(), cancel(), cancel());
      assert.equal((await thread.effects()).length, 1);
      await thread.assertInStep();
    });

    test("is refused a message while a question is open, and keeps the question", async () => {
      const thread = begin();
      await thread.say("refund please");
      const other = thread.reloaded();
      const refused = await other.say("never mind");
      assert.equal(refused.error.code, "interrupts_pending");
      await thread.assertInStep();
      await thread.resume(approve());
      assert.equal((await thread.effects()).length, 1);
    });
  });
}
