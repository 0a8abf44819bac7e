// Frameworks of agents: an environment of its own for each version that adapters are tested with.
import { join } from "node:path";

import { at, cache, root } from "./checkout.mjs";
import { findPython } from "./interpreter.mjs";
import { digest, unlessStamped } from "./stamp.mjs";
import { createEnvironment, install, installCheckout } from "./uv.mjs";

// What a store may do differently is shown beside the newest version: no store knows which one it is.
const EMBEDDED = ["-k", "not postgres and not redis"];

// group: the dependency group of pyproject.toml, after which the lock and the stage are named.
// extras: those of the package that it stands for; no other environment has them.
// tests: what runs there. module: what authors import, whose types are known there.
export const FRAMEWORKS = [
  { group: "langgraph", tests: ["tests/frameworks/langgraph"], module: "sayso.langgraph" },
  { group: "langgraph-oldest", tests: ["tests/frameworks/langgraph", ...EMBEDDED] },
  { group: "pydantic-ai", tests: ["tests/frameworks/pydantic_ai"], module: "sayso.pydantic_ai" },
  { group: "pydantic-ai-oldest", tests: ["tests/frameworks/pydantic_ai", ...EMBEDDED] },
  {
    group: "agent-framework",
    tests: ["tests/frameworks/agent_framework"],
    module: "sayso.agent_framework",
  },
  {
    group: "openai-agents",
    tests: ["tests/frameworks/openai_agents"],
    module: "sayso.openai_agents",
  },
  { group: "strands", tests: ["tests/frameworks/strands"], module: "sayso.strands" },
  { group: "mcp", tests: ["tests/frameworks/mcp"], module: "sayso.mcp" },
];

export const stageOf = ({ group }) => `frameworks:${group}`;
export const lockOf = ({ group }) => `requirements-${group}.lock`;
export const pythonOf = ({ group }) => join(cache, "frameworks", group, "bin", "python");

// Brings the environment of one framework to what its lock says, with this package in it.
export async function setUpFramework(framework) {
  const { version, executable } = findPython();
  const folder = join(cache, "frameworks", framework.group);
  const lock = at(lockOf(framework));
  const inputs = [lock, at("pyproject.toml"), at("hatch_build.py")];
  const value = digest(inputs, [version, executable, root]);
  await unlessStamped(`${folder}/.sayso-packages`, value, async () => {
    console.log(`Setting up what ${framework.group} is tested in …`);
    await createEnvironment(folder);
    await install(pythonOf(framework), lock);
    await installCheckout(pythonOf(framework));
  });
}
