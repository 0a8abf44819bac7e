// Setup: the parts that commands and stages need, each brought up to date after those that it needs.
import { join } from "node:path";

import { setUpAgentFrameworkClient } from "./agentFrameworkClient.mjs";
import { setUpBrowser } from "./browser.mjs";
import { cache } from "./checkout.mjs";
import { buildExample, EXAMPLES } from "./example.mjs";
import { Failure } from "./failure.mjs";
import { FRAMEWORKS, setUpFramework, stageOf } from "./frameworks.mjs";
import { setUpNginx } from "./nginx.mjs";
import { setUpNode } from "./node.mjs";
import { setUpPython, setUpTests } from "./python.mjs";
import { playAll } from "./schedule.mjs";
import { withLock } from "./setup-lock.mjs";
import { setUpUv } from "./uv.mjs";
import { buildWeb } from "./web.mjs";

// needs: parts that come first. make: brings it up to date. variable: what tells tests where it is.
const PARTS = {
  uv: { make: setUpUv },
  python: { needs: ["uv"], make: setUpPython },
  tests: { needs: ["python"], make: setUpTests },
  node: { make: setUpNode },
  web: { needs: ["node"], make: buildWeb },
  browser: { make: setUpBrowser, variable: "SAYSO_BROWSER" },
  nginx: { make: setUpNginx, variable: "SAYSO_NGINX" },
  "agent-framework-client": {
    needs: ["uv"],
    make: setUpAgentFrameworkClient,
    variable: "SAYSO_AGENT_FRAMEWORK_CLIENT",
  },
  ...Object.fromEntries(EXAMPLES.map((name) => [name, { make: () => buildExample(name) }])),
  ...Object.fromEntries(
    FRAMEWORKS.map((framework) => [
      stageOf(framework),
      { needs: ["uv"], make: () => setUpFramework(framework) },
    ]),
  ),
};

const taskOf = (part) => `set up ${part}`;

// Names of parts, as the tasks that the schedule knows them by.
export const tasksOf = (parts) => parts.map(taskOf);

// The tasks that bring parts up to date, with those that they need before them. What tests are to be
// told goes to `env`.
export function setupTasks(parts, env = {}) {
  const tasks = new Map();
  const add = (part) => {
    const { needs = [], make, variable } = PARTS[part];
    needs.forEach(add);
    const play = async () => {
      const made = await withLock(join(cache, `${part.replace(":", "-")}.lock`), make);
      if (variable) env[variable] = made;
      return null;
    };
    tasks.set(part, { name: taskOf(part), needs: tasksOf(needs), slots: 1, play });
  };
  parts.forEach(add);
  return [...tasks.values()];
}

// Brings parts up to date, side by side: each waits for its registry most of the time.
export async function setUp(parts) {
  const tasks = setupTasks(parts);
  const outcomes = await playAll(tasks, { slots: tasks.length });
  const wrong = [...outcomes.values()].find((outcome) => outcome !== null);
  if (wrong) throw new Failure(wrong);
}
