// Beyond the agent: the client's own tools, and agents inside the agent, with both official clients.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";

import { startDemo } from "./demo.mjs";
import { approve, CLIENTS, deny, Thread } from "./thread.mjs";

let server;
before(async () => {
  server = await startDemo();
});
after(() => server?.stop());

const TOOLS = [{ name: "schedule_meeting", description: "Pick a time.", parameters: {} }];
const IS_CURRENT = { "1.0.0": true, "0.0.59": false };

for (const client of CLIENTS) {
  const current = IS_CURRENT[client.version];
  describe(`@ag-ui/client ${client.version}`, () => {
    const begin = () => new Thread(client, server);
    const kinds = async (thread) => (await thread.effects()).map(({ kind }) => kind);

    // The calls that its history holds without a result, as any client derives them.
    const open = (thread) => {
      const answered = thread.messages.flatMap(({ toolCallId }) => toolCallId ?? []);
      const calls = thread.messages.flatMap(({ toolCalls }) => toolCalls ?? []);
      return calls.map(({ id }) => id).filter((id) => !answered.includes(id));
    };
    const tell = (thread, toolCallId, content, more = {}) =>
      thread.agent.addMessage({ id: randomUUID(), role: "tool", toolCallId, content, ...more });

    const assertSameMessages = async (thread) => {
      const byId = ({ messages }) =>
        JSON.parse(JSON.stringify(messages)).sort((a, b) => (a.id < b.id ? -1 : 1));
      assert.deepEqual(byId(thread), byId(await thread.stored()));
    };

    test("runs its own tool and sends what came of it [TC-11, TC-12, TC-13, TC-14]", async () => {
      const thread = begin();
      const run = await thread.say("a meeting, please", { tools: TOOLS });
      assert.equal(run.error, undefined);
      assert.deepEqual(thread.pending, []);
      const [call] = open(thread);
      const outcome = { type: "success", ...(current && { pendingToolCallIds: [call] }) };
      assert.deepEqual(run.last.outcome, outcome);
      const [{ function: made }] = thread.messages.at(-1).toolCalls;
      assert.deepEqual(JSON.parse(made.arguments).slots.length, 3);
      assert.deepEqual(await thread.effects(), []);
      tell(thread, call, "Tuesday 14:00");
      const second = await thread.run({ tools: TOOLS });
      assert.deepEqual(second.last.outcome, { type: "success" });
      assert.equal(second.types.filter((type) => type.startsWith("TOOL_CALL")).length, 0);
      assert.match(thread.texts.at(-1), /We meet on Tuesday 14:00/);
      assert.deepEqual(
        (await thread.effects()).map(({ args }) => args.slot),
        ["Tuesday 14:00"],
      );
      await thread.assertInStep();
    });

    test("talks on instead, and is shown no result of its call [TC-11]", async () => {
      const thread = begin();
      await thread.say("meeting", { tools: TOOLS });
      await thread.say("hello", { tools: TOOLS });
      assert.match(thread.texts.at(-2), /Hello!/);
      assert.equal(open(thread).length, 1);
      assert.deepEqual(await thread.effects(), []);
      // What was said waited for the turn to end, so the server has it behind what that said.
      await assertSameMessages(thread);
    });

    test("takes the call up again after a reload", async () => {
      const first = begin();
      await first.say("meeting", { tools: TOOLS });
      const thread = first.reloaded();
      const connected = await first.stored();
      thread.agent.setMessages(connected.messages);
      const [call] = open(thread);
      tell(thread, call, '{"slot": "Monday 09:00"}');
      await thread.run({ tools: TOOLS });
      assert.deepEqual(await kinds(thread), ["meeting"]);
      await thread.assertInStep();
    });

    test("is told of inner agents if it can read that [SA-01, SA-05, SA-12, OB-08]", async () => {
      const thread = begin();
      const run = await thread.say("nested");
      assert.equal(run.error, undefined);
      const subagentEvents = run.types.filter((type) => type.startsWith("SUBAGENT"));
      assert.equal(subagentEvents.length, current ? 4 : 0);
      assert.equal(thread.pending.length, 2);
      for (const { subagentRunId, metadata } of thread.pending) {
        assert.equal(typeof subagentRunId, "string");
        assert.deepEqual(metadata.sayso.path, ["warehouse"]);
      }
      // Texts of agents side by side stand where they began here, and where they ended there.
      await assertSameMessages(thread);
    });

    test("answers each inner agent for itself [SA-06, SA-13]", async () => {
      const thread = begin();
      const first = await thread.say("nested");
      const run = await thread.resume(deny("too far"), approve());
      assert.equal(run.last.outcome.type, "success");
      const ids = ({ events }) =>
        events.filter(({ type }) => type === "SUBAGENT_STARTED").map((e) => e.subagentRunId);
      assert.deepEqual(ids(run).sort(), ids(first).sort());
      assert.deepEqual(
        (await thread.effects()).map(({ kind, args }) => [kind, args.town]),
        [["inner", "Turin"]],
      );
      // Texts of agents side by side stand where they began here, and where they ended there.
      await assertSameMessages(thread);
    });
  });
}
