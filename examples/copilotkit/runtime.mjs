// CopilotKit's Node runtime in front of a Sayso server. A page needs none; this is for who has one
// already: `node runtime.mjs`, then the page with `?runtime=http://127.0.0.1:4000/copilotkit`.
import { createServer } from "node:http";

import { HttpAgent } from "@ag-ui/client";
import { CopilotRuntime, InMemoryAgentRunner } from "@copilotkit/runtime/v2";
import { createCopilotNodeListener } from "@copilotkit/runtime/v2/node";

const { PORT = "4000", SAYSO_URL = "http://127.0.0.1:8000" } = process.env;
// The path says whose client asks: at a plain /agents/ops a page is stuck after every refusal.
const { SAYSO_AGENT = "/agents/ops?client=copilotkit" } = process.env;

const runtime = new CopilotRuntime({
  agents: { ops: new HttpAgent({ url: SAYSO_URL + SAYSO_AGENT }) },
  runner: new InMemoryAgentRunner(),
});
const listener = createCopilotNodeListener({ runtime, basePath: "/copilotkit", cors: true });
createServer(listener).listen(Number(PORT), "127.0.0.1", () => {
  console.log(`CopilotKit's runtime: http://127.0.0.1:${PORT}/copilotkit`);
});
