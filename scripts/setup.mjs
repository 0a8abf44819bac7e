// Setup as a whole: what a command needs, brought up to date, one process at a time.
import { join } from "node:path";

import { cache } from "./checkout.mjs";
import { buildExample } from "./example.mjs";
import { setUpNode } from "./node.mjs";
import { setUpPython } from "./python.mjs";
import { alone } from "./turnstile.mjs";
import { buildWeb } from "./web.mjs";

// `needs` is a set of "python" (the runtime), "tests" (and the test tools), "node", "web", "example".
export function setUp(needs) {
  return alone(join(cache, "setup.lock"), async () => {
    if (needs.has("tests")) await setUpPython({ tests: true });
    else if (needs.has("python")) await setUpPython();
    if (needs.has("node") || needs.has("web")) await setUpNode();
    if (needs.has("web")) await buildWeb();
    if (needs.has("example")) await buildExample();
  });
}
