// Integers that a double does not hold, through clients that know nothing of it: JavaScript rounds
// them, so what comes back rounded is refused at every path, and nothing runs with a neighbour.
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";

import { serve } from "./demo.mjs";
import { approve, CLIENTS, Thread } from "./thread.mjs";

const DIGITS = "9007199254740993";
const MOVED = new RegExp(`moved 10.5 to ${DIGITS}`);
const PATHS = {
  "its own path": "/agents/accounts",
  "its own path, as CopilotKit": "/agents/accounts?client=copilotkit",
  "its own path, as assistant-ui": "/agents/accounts?client=assistant-ui",
  "the CopilotKit mount": "/copilotkit/agent/accounts/run",
};

let server;
before(async () => {
  server = await serve("python", [fileURLToPath(new URL("surface.py", import.meta.url))]);
});
after(async () => {
  if (server === undefined || server.child.exitCode !== null) return;
  const gone = once(server.child, "exit");
  server.child.kill("SIGTERM");
  await gone;
});

for (const client of CLIENTS) {
  for (const [where, path] of Object.entries(PATHS)) {
    describe(`@ag-ui/client ${client.version} at ${where}`, () => {
      const begin = () => new Thread(client, { agentUrl: server.url + path });
      const detailsOf = ({ pending }) => pending[0].metadata.sayso;

      test("has the digits as text, and can say yes to them [EN-08]", async () => {
        const thread = begin();
        await thread.say("go");
        assert.match(thread.pending[0].message, new RegExp(DIGITS));
        assert.equal(detailsOf(thread).exact["/metadata/sayso/arguments/account"], DIGITS);
        await thread.resume(approve());
        assert.match(thread.texts.at(-1), MOVED);
      });

      test("is refused the number that it rounded, and is asked again [ID-05]", async () => {
        const thread = begin();
        await thread.say("go");
        const { account } = detailsOf(thread).arguments;
        assert.equal(String(account), "9007199254740992");
        const run = await thread.resume(approve({ editedArgs: { account, amount: 20 } }));
        const problem = run.error?.details ?? detailsOf(thread).problem;
        assert.match(JSON.stringify(problem ?? run.error), /invalid_payload/);
        assert.match(JSON.stringify(problem ?? run.error), /your client rounds it/);
        assert.doesNotMatch(thread.texts.join(), /moved/);
        await thread.resume(approve());
        assert.match(thread.texts.at(-1), MOVED);
      });
    });
  }
}
