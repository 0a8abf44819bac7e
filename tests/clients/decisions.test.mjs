// The official clients decide about calls of the demo agent; what happened stands in its ledger.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { startDemo } from "./demo.mjs";
import { approve, cancel, CLIENTS, deny, resolved, Thread } from "./thread.mjs";

let server;
before(async () => {
  server = await startDemo();
});
after(() => server?.stop());

for (const client of CLIENTS) {
  describe(`@ag-ui/client ${client.version}`, () => {
    const begin = () => new Thread(client, server);

    test("holds the interrupt of a run that asks [IN-10, FC-08]", async () => {
      const thread = begin();
      const run = await thread.say("refund please");
      assert.equal(run.last.outcome.type, "interrupt");
      const [{ reason, toolCallId, responseSchema }] = thread.pending;
      assert.equal(reason, "tool_call");
      assert.ok(responseSchema.properties.editedArgs);
      const calls = thread.messages.flatMap(({ toolCalls }) => toolCalls ?? []);
      assert.deepEqual(
        calls.map(({ id }) => id),
        [toolCallId],
      );
      assert.deepEqual(JSON.parse(calls[0].function.arguments), { order_id: "A-17", amount: 240 });
      assert.deepEqual(await thread.effects(), []);
      await thread.assertInStep();
    });

    test("approves, once [ID-01, LC-12]", async () => {
      const thread = begin();
      await thread.say("refund please");
      const entries = thread.pending.map(({ id }) => ({ interruptId: id, ...approve() }));
      const run = await thread.run({ resume: entries });
      assert.equal(run.last.outcome.type, "success");
      assert.deepEqual(thread.pending, []);
      await thread.assertInStep();
      const again = await thread.run({ resume: entries });
      assert.equal(again.last.outcome.type, "success");
      assert.deepEqual(
        (await thread.effects()).map(({ kind, args }) => [kind, args.amount]),
        [["refund", 240]],
      );
      await thread.assertInStep();
    });

    test("denies with a reason", async () => {
      const thread = begin();
      await thread.say("refund please");
      await thread.resume(deny("over the limit"));
      assert.match(thread.messages.find(({ role }) => role === "tool").content, /over the limit/);
      assert.match(thread.texts.at(-1), /denied \(over the limit\)/);
      assert.deepEqual(await thread.effects(), []);
      await thread.assertInStep();
    });

    test("cancels, and the thread goes on", async () => {
      const thread = begin();
      await thread.say("refund please");
      await thread.resume(cancel());
      assert.deepEqual(await thread.effects(), []);
      await thread.say("hello");
      assert.match(thread.texts.at(-2), /Hello!/);
      await thread.assertInStep();
    });

    test("edits the arguments [TB-05]", async () => {
      const thread = begin();
      await thread.say("refund please");
      await thread.resume(approve({ editedArgs: { order_id: "B-2", amount: 99.5 } }));
      assert.deepEqual(
        (await thread.effects()).map(({ args }) => [args.order_id, args.amount]),
        [["B-2", 99.5]],
      );
      await thread.assertInStep();
    });

    test("decides about three at once, each its own way [CR-3, RE-15]", async () => {
      const thread = begin();
      await thread.say("send the email");
      assert.equal(thread.pending.length, 3);
      await assert.rejects(
        thread.run({ resume: [{ interruptId: thread.pending[0].id, ...approve() }] }),
        /not addressed by resume/,
      );
      await thread.resume(approve(), deny("wrong address"), cancel());
      const effects = await thread.effects();
      assert.deepEqual(
        effects.map(({ args }) => args.to),
        ["ada@example.com"],
      );
      assert.equal(thread.messages.filter(({ role }) => role === "tool").length, 3);
      await thread.assertInStep();
    });

    test("corrects an answer that was refused [OU-12, ER-07]", async () => {
      const thread = begin();
      await thread.say("quarterly");
      const [asked] = thread.pending;
      const refused = await thread.resume(resolved({ quarter: "Q7", year: 1999, revenue: 1 }));
      assert.equal(refused.error.code, "invalid_payload");
      const pointers = refused.error.metadata.sayso.interrupts[0].problems.map((p) => p.pointer);
      assert.deepEqual(pointers.sort(), ["/quarter", "/year"]);
      assert.deepEqual(
        thread.pending.map(({ id }) => id),
        [asked.id],
      );
      const taken = await thread.resume(resolved({ quarter: "Q3", year: 2026, revenue: 1e6 }));
      assert.equal(taken.last.outcome.type, "success");
      assert.deepEqual(
        (await thread.effects()).map(({ kind }) => kind),
        ["filing"],
      );
      await thread.assertInStep();
    });

    test("answers a second question in the resumed run", async () => {
      const thread = begin();
      await thread.say("deploy");
      const [first] = thread.pending;
      await thread.resume(approve({ note: "go" }));
      const [second] = thread.pending;
      assert.notEqual(second.id, first.id);
      assert.deepEqual(await thread.effects(), []);
      await thread.resume(approve());
      assert.deepEqual(
        (await thread.effects()).map(({ kind }) => kind),
        ["deploy"],
      );
      await thread.assertInStep();
    });

    test("shows steps open and closed over a pause [ST-02]", async () => {
      const thread = begin();
      const steps = ({ types }) => types.filter((type) => type.startsWith("STEP_"));
      assert.deepEqual(steps(await thread.say("progress")), ["STEP_STARTED", "STEP_FINISHED"]);
      const run = await thread.resume(approve());
      assert.equal(run.last.outcome.type, "success");
      assert.deepEqual(steps(run), ["STEP_STARTED", "STEP_FINISHED"]);
      await thread.assertInStep();
    });

    test("takes null and text as answers [RE-05]", async () => {
      for (const [payload, said] of [
        [null, /Nameless/],
        ["", /Hello, !/],
        ["123", /Hello, 123!/],
      ]) {
        const thread = begin();
        await thread.say("nickname");
        await thread.resume(resolved(payload));
        assert.match(thread.texts.at(-1), said);
        await thread.assertInStep();
      }
    });

    test("asks the same thing again as often as the agent does", async () => {
      const thread = begin();
      await thread.say("again");
      const ids = [];
      while (thread.pending.length > 0 && ids.length < 5) {
        ids.push(thread.pending[0].id);
        await thread.resume(approve());
      }
      assert.equal(new Set(ids).size, ids.length);
      assert.equal(ids.length, 3);
      assert.equal((await thread.effects()).length, 3);
      await thread.assertInStep();
    });
  });
}
