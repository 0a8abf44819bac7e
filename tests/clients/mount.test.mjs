// The CopilotKit mount as the two official clients see it, one of which CopilotKit stands on.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, before, describe, test } from "node:test";

import { startDemo } from "./demo.mjs";
import { approve, CLIENTS, resolved, Thread } from "./thread.mjs";

const RELEASED = ["RUN_STARTED", "RUN_FINISHED", "RUN_STARTED"];

let demo, server;
before(async () => {
  demo = await startDemo();
  server = { ...demo, agentUrl: `${demo.url}/copilotkit/agent/ops/run` };
});
after(() => demo?.stop());

// The frames of an answer to such a request, as they come.
async function framesOf(body) {
  const response = await fetch(server.agentUrl, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return (await response.text()).split(/(?<=\n\n)/);
}

// A server that says what it is given, request by request, and closes.
async function saying(...streams) {
  const saying = createServer((request, response) => {
    request.resume().on("end", () => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(streams.shift().join(""));
    });
  });
  await once(saying.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${saying.address().port}/agents/ops`;
  return { url, agentUrl: url, close: () => saying.close() };
}

for (const client of CLIENTS) {
  describe(`@ag-ui/client ${client.version} at the CopilotKit mount`, () => {
    const begin = () => new Thread(client, server);

    test("lets go of what it answered before the work, and is asked the next question [CK-07]", async () => {
      const thread = begin();
      await thread.say("deploy");
      const [first] = thread.pending;
      const second = await thread.resume(approve());
      assert.deepEqual(second.types.slice(0, 3), RELEASED);
      const [begun, over, runs] = second.events;
      assert.equal(begun.runId, over.runId);
      assert.notEqual(begun.runId, runs.runId);
      assert.equal(runs.runId, second.last.runId);
      assert.notEqual(thread.pending[0].id, first.id);
      const done = await thread.resume(approve());
      assert.equal(done.last.outcome.type, "success");
      assert.equal((await thread.effects()).length, 1);
      assert.deepEqual(thread.pending, []);
    });

    test("is told one refusal from the next that says the same [CL-08]", async () => {
      const thread = begin();
      await thread.say("quarterly");
      const ids = [];
      for (let index = 0; index < 3; index++) {
        await thread.resume(resolved({ year: 1999 }));
        ids.push(thread.pending[0].metadata.sayso.problem.id);
      }
      assert.equal(new Set(ids).size, 3);
    });

    test("is free wherever the stream of an answer is cut that was stored [CK-07, LC-04]", async () => {
      const threadId = randomUUID();
      const body = { threadId, state: {}, tools: [], context: [], forwardedProps: {} };
      const messages = [{ id: randomUUID(), role: "user", content: "refund" }];
      const frames = await framesOf({ ...body, runId: "first", messages });
      const { outcome } = JSON.parse(frames.at(-1).slice(6));
      const answer = { interruptId: outcome.interrupts[0].id, ...approve() };
      const taken = await framesOf({ ...body, runId: "first", messages, resume: [answer] });
      const plain = [taken[0], taken[1]];
      for (let length = 2; length <= taken.length; length++) {
        const cut = await saying(frames, taken.slice(0, length), plain);
        const thread = new Thread(client, cut, { threadId });
        await thread.say("refund");
        assert.equal(thread.pending.length, 1);
        await thread.resume(approve());
        assert.deepEqual(thread.pending, [], `cut behind ${length} frames`);
        const next = await thread.say("hello");
        assert.equal(next.last.type, "RUN_FINISHED");
        cut.close();
      }
    });
  });
}
