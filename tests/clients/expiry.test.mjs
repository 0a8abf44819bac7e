// Questions that are open for a second only.
import assert from "node:assert/strict";
import { setTimeout as passed } from "node:timers/promises";
import { after, before, test } from "node:test";

import { PATIENCE_MS, startDemo } from "./demo.mjs";
import { approve, cancel, CLIENTS, Thread } from "./thread.mjs";

let server;
before(async () => {
  server = await startDemo({ "expires-in": 1 });
});
after(() => server?.stop());

for (const client of CLIENTS) {
  test(`@ag-ui/client ${client.version} sees a question expire [EX-02, EX-04]`, async () => {
    const thread = new Thread(client, server);
    await thread.say("deploy");
    const [{ id, expiresAt }] = thread.pending;
    await passed(new Date(expiresAt) - Date.now() + 1);
    await assert.rejects(thread.resume(approve()), /expired/);
    const late = await thread.reloaded().run({ resume: [{ interruptId: id, ...approve() }] });
    assert.equal(late.error.code, "interrupt_expired");
    let shown = await thread.stored();
    for (const end = Date.now() + PATIENCE_MS; shown.pending.length > 0 && Date.now() < end;) {
      await passed(50);
      shown = await thread.stored();
    }
    assert.match(shown.texts.at(-1), /nobody answered in time/);
    assert.deepEqual(await thread.effects(), []);
    if (client.version === "1.0.0") {
      const cancelled = await thread.resume(cancel());
      assert.equal(cancelled.last.outcome.type, "success");
      assert.deepEqual(thread.pending, []);
      await thread.assertInStep();
    }
  });
}
