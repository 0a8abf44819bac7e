// Setup as a whole: what a command needs, brought up to date, one process at a time.
import { join } from "node:path";

import { cache } from "./checkout.mjs";
import { buildExample, EXAMPLES } from "./example.mjs";
import { setUpNode } from "./node.mjs";
import { setUpPython } from "./python.mjs";
import { withLock } from "./setup-lock.mjs";
import { buildWeb } from "./web.mjs";

// `needs` is a set of "python" (the runtime), "tests" (and the test tools), "node", "web",
// and the names of examples.
export function setUp(needs) {
  return withLock(join(cache, "setup.lock"), async () => {
    // Side by side: each waits for its registry most of the time. None is left behind by a failure.
    const python = needs.has("tests") || needs.has("python");
    const settled = await Promise.allSettled([
      python && setUpPython({ tests: needs.has("tests") }),
      (needs.has("node") || needs.has("web")) && setUpNode(),
    ]);
    const failed = settled.find(({ status }) => status === "rejected");
    if (failed) throw failed.reason;
    if (needs.has("web")) await buildWeb();
    for (const example of EXAMPLES) {
      if (needs.has(example)) await buildExample(example);
    }
  });
}
