// What one official client opens, any other one answers, in any dialect.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";

import { startDemo } from "./demo.mjs";
import { LegacyThread } from "./older.mjs";
import { approve, CLIENTS, Thread } from "./thread.mjs";

let server;
before(async () => {
  server = await startDemo();
});
after(() => server?.stop());

// Each way opens a thread, and answers one that it knows by its id alone.
const standard = (client) => ({
  name: client.version,
  open: async (threadId) => {
    const thread = new Thread(client, server, { threadId });
    await thread.say("refund please");
    assert.equal(thread.pending.length, 1);
  },
  answer: async (threadId) => {
    const fresh = new Thread(client, server, { threadId, path: "/connect" });
    await fresh.run();
    const { pending } = fresh;
    const answers = Object.fromEntries(pending.map(({ id }) => [id, approve()]));
    const thread = new Thread(client, server, { threadId });
    const run = await thread.run({ resume: client.buildResumeArray(pending, answers) });
    assert.equal(run.last.outcome.type, "success");
  },
});

const older = (client) => ({
  name: `${client.version}, asked by event`,
  open: async (threadId) => {
    const thread = new LegacyThread(client, server, { threadId });
    await thread.say("refund please");
    assert.equal(thread.asked.length, 1);
  },
  answer: async (threadId) => {
    const fresh = new LegacyThread(client, server, { threadId, path: "/connect" });
    await fresh.run();
    const thread = new LegacyThread(client, server, { threadId });
    await thread.reply({ approved: true }, fresh.question);
    assert.deepEqual(thread.asked, []);
  },
});

const session = {
  name: "a session",
  async post(path, body) {
    const response = await fetch(`${server.url}/api/v1/chat${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    assert.equal(response.status, 200);
    const frames = (await response.text()).trim().split("\n\n");
    return JSON.parse(frames.at(-1).replace(/^data: /, ""));
  },
  async open(threadId) {
    const response = await this.post("", { message: "refund please", session_id: threadId });
    assert.equal(response.type, "interrupt");
  },
  async answer(threadId) {
    const shown = await fetch(`${server.url}/api/v1/chat?session_id=${threadId}`);
    assert.match(await shown.text(), /"type":"interrupt"/);
    const done = await this.post("/resume", { session_id: threadId, answer: "yes" });
    assert.equal(done.type, "done");
  },
};

const ways = [...CLIENTS.flatMap((client) => [standard(client), older(client)]), session];

describe("a thread", () => {
  for (const first of ways) {
    for (const second of ways) {
      test(`of ${first.name} is answered by ${second.name} [LG-14]`, async () => {
        const threadId = randomUUID();
        await first.open(threadId);
        assert.deepEqual(await server.effects(threadId), []);
        await second.answer(threadId);
        const kinds = (await server.effects(threadId)).map(({ kind }) => kind);
        assert.deepEqual(kinds, ["refund"]);
        for (const client of CLIENTS) {
          const shown = new Thread(client, server, { threadId, path: "/connect" });
          await shown.run();
          assert.deepEqual(shown.pending, []);
          assert.equal(shown.texts.at(-1), "Refunded 240.00 for order A-17.");
        }
      });
    }
  }
});
