// Stop, and answers from elsewhere, as the two official clients see them.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as passed } from "node:timers/promises";

import { PATIENCE_MS, startHeld } from "./demo.mjs";
import { approve, cancel, CLIENTS, deny, Thread } from "./thread.mjs";

let server;
before(async () => {
  server = await startHeld();
});
after(() => server?.stop());

async function post(path, body = {}) {
  const response = await fetch(server.url + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: await response.json() };
}

const stop = (thread) => post(`/threads/${encodeURIComponent(thread.threadId)}/stop`);
const answer = ({ id }, body) => post(`/interrupts/${id}/answer`, body);

// What the thread shows once nobody runs it any more.
async function atRest(thread) {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await passed(50)) {
    const response = await fetch(`${server.url}/threads/${thread.threadId}`);
    if (!(await response.json()).running) break;
  }
  return thread.stored();
}

// Resolves once the thread has done something.
async function begun(thread) {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await passed(20)) {
    if ((await thread.effects()).length > 0) return;
  }
  throw new Error("nothing has begun");
}

for (const client of CLIENTS) {
  describe(`@ag-ui/client ${client.version}`, () => {
    const begin = () => new Thread(client, server);

    test("a stop while questions wait leaves none [OU-07, TC-16]", async () => {
      const thread = begin();
      await thread.say("send the email");
      const questions = thread.pending;
      assert.deepEqual(await stop(thread), { status: 200, body: { stopped: true } });
      assert.deepEqual((await stop(thread)).body, { stopped: false });
      const shown = await thread.stored();
      assert.deepEqual(shown.pending, []);
      const results = shown.messages.filter(({ role }) => role === "tool");
      assert.equal(results.length, questions.length);
      for (const { content } of results)
        assert.match(content, /^Not executed: the turn was stopped/);
      const late = await thread.resume(...questions.map(() => approve()));
      assert.equal(late.error.code, "already_resolved");
      shown.agent.url = server.agentUrl;
      const next = await shown.say("hello");
      assert.equal(next.last.outcome.type, "success");
      assert.deepEqual(await thread.effects(), []);
      await shown.assertInStep();
    });

    test("a stop of a running step lets it end, and is told in its words [OU-10, OC-03]", async () => {
      const thread = begin();
      await server.hold();
      const stopIt = async () => {
        await begun(thread);
        const answered = await stop(thread);
        await server.release();
        return answered;
      };
      let stopping;
      const run = await thread.say("slow", {}, ({ type }) => {
        if (type === "TEXT_MESSAGE_END") stopping ??= stopIt();
      });
      assert.deepEqual((await stopping).body, { stopped: true });
      if (client.version === "1.0.0") {
        assert.deepEqual(run.last.outcome, { type: "cancelled" });
        assert.equal(run.error, undefined);
      } else {
        assert.equal(run.error.code, "abort");
      }
      assert.deepEqual(thread.pending, []);
      assert.deepEqual(
        (await thread.effects()).map(({ kind }) => kind),
        ["slow"],
      );
      assert.equal(thread.texts.length, 1);
      assert.equal((await thread.say("hello")).last.outcome.type, "success");
    });

    test("answers from the inbox are carried out once, without a client [ER-13]", async () => {
      const thread = begin();
      await thread.say("send the email");
      const [first, second, third] = thread.pending;
      assert.deepEqual(await answer(first, approve()), { status: 202, body: { remaining: 2 } });
      assert.deepEqual((await answer(third, cancel())).body, { remaining: 1 });
      const last = await answer(second, deny("not now"));
      assert.equal(last.status, 200);
      assert.match(last.body.runId, /^run_/);
      const shown = await atRest(thread);
      assert.deepEqual(shown.pending, []);
      assert.equal((await thread.effects()).length, 1);
      const late = await thread.resume(approve(), deny("not now"), cancel());
      assert.equal(late.last.outcome.type, "success");
      assert.equal((await thread.effects()).length, 1);
      await thread.assertInStep();
    });
  });
}
