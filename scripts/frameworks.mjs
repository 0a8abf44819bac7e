// Frameworks of agents: an environment of its own for each version that adapters are tested with.
import { rmSync } from "node:fs";
import { join } from "node:path";

import { at, cache, root } from "./checkout.mjs";
import { runOrFail } from "./command.mjs";
import { findPython } from "./python.mjs";
import { digest, unlessStamped } from "./stamp.mjs";

// group: the dependency group of pyproject.toml, after which the lock and the stage are named.
// extras: those of the package that it stands for; no other environment has them.
// tests: what runs there. module: what authors import, whose types are known there.
export const FRAMEWORKS = [
  { group: "langgraph", tests: ["tests/frameworks/langgraph"], module: "sayso.langgraph" },
  { group: "langgraph-oldest", tests: ["tests/frameworks/langgraph"] },
  { group: "pydantic-ai", tests: ["tests/frameworks/pydantic_ai"], module: "sayso.pydantic_ai" },
  { group: "pydantic-ai-oldest", tests: ["tests/frameworks/pydantic_ai"] },
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

const PIP = ["-m", "pip", "--disable-pip-version-check", "--no-input", "--quiet", "install"];

// Brings the environment of one framework to what its lock says, with this package in it.
export async function setUpFramework(framework) {
  const { version, executable } = findPython();
  const folder = join(cache, "frameworks", framework.group);
  const lock = at(lockOf(framework));
  const project = [lock, at("pyproject.toml"), at("hatch_build.py")];
  await unlessStamped(
    `${folder}/.sayso-packages`,
    digest(project, [version, executable, root]),
    async () => {
      console.log(`Setting up what ${framework.group} is tested in …`);
      rmSync(folder, { recursive: true, force: true });
      await runOrFail(executable, ["-m", "venv", folder]);
      const pip = (...args) =>
        runOrFail(pythonOf(framework), [...PIP, ...args], {
          advice: "Is a package index in reach? The lines above say what pip missed.",
        });
      await pip("--require-hashes", "-r", lock);
      await pip("--no-deps", "--no-build-isolation", "--editable", root);
    },
  );
}
