// A connection that breaks in the middle of a run, and the Node process that was reading it.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";

import { at } from "../../scripts/checkout.mjs";
import { bundleCore } from "./bundle.mjs";
import { PATIENCE_MS } from "./demo.mjs";
import { CLIENTS } from "./thread.mjs";

let server, url, core;
before(async () => {
  server = createServer((request, response) => {
    request.resume().on("end", () => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const started = { type: "RUN_STARTED", threadId: "thread", runId: "run" };
      // Destroyed only once it was sent: the client is in the middle of the body then.
      response.write(`data: ${JSON.stringify(started)}\n\n`, () => response.destroy());
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${server.address().port}/agents/ops`;
  core = await bundleCore();
});
after(async () => {
  server?.close();
  await core?.remove();
});

// How a Node process fares whose agent is of that class.
function host(module, name, ...guard) {
  const args = [at("tests", "clients", "host.mjs"), module, name, url, ...guard];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { timeout: PATIENCE_MS }, (error, stdout, stderr) => {
      resolve({ code: error?.code ?? 0, said: stdout.trim().split("\n"), stderr });
    });
  });
}

describe("a connection that is cut in the middle of a run", () => {
  test("is the end of the run and not of a Node process [CL-20, ER-12]", async () => {
    const { code, said, stderr } = await host(pathToFileURL(core.file), "SaysoAgent");
    assert.deepEqual([code, said], [0, ["rejected: terminated", "alive"]], stderr);
  });

  for (const { version } of CLIENTS) {
    const module = `ag-ui-client-${version[0]}`;

    test(`needs a guard with the plain client ${version} [CL-20]`, async () => {
      const { code, said, stderr } = await host(module, "HttpAgent", "guard");
      const reported = ["rejected: terminated", "unhandled: terminated", "alive"];
      assert.deepEqual([code, said.sort()], [0, reported.sort()], stderr);
      // Without one the process is gone: what the guard is for.
      assert.notEqual((await host(module, "HttpAgent")).code, 0);
    });
  }
});
