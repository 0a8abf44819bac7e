// The stages of npm test, in order. A stage is a list of commands; those of a suite leave a report.
import { availableParallelism } from "node:os";
import { at, venvBin, workspaces } from "./checkout.mjs";
import { FRAMEWORKS, pythonOf, stageOf } from "./frameworks.mjs";
import { filesBelow } from "./stamp.mjs";

const HOUSE = ["scripts", "tests/house", "tests/clients", "tests/spec", "eslint.config.mjs"];
const PRETTIER = ["--config", "web/.prettierrc.json", "--check", ...HOUSE, "examples"];

const tool = (name, args) => ({ command: at("node_modules", ".bin", name), args });

const python = (name, args) => ({ command: venvBin(name), args });

const pytest = (args) => [{ ...python("pytest", args), report: (path) => [`--junitxml=${path}`] }];

const inEachWorkspace = (script, more = {}) =>
  workspaces().map((workspace) => ({
    command: "npm",
    args: ["run", script, "--workspace", workspace, "--"],
    ...more,
  }));

const vitestReport = (path) => [
  "--reporter=default",
  "--reporter=junit",
  `--outputFile.junit=${path}`,
];

const nodeReport = (path) => [
  "--test-reporter=spec",
  "--test-reporter-destination=stdout",
  "--test-reporter=junit",
  `--test-reporter-destination=${path}`,
];

// One process more than there are cores, since some always wait for a server, a page or a lease; who
// has nothing left to do takes over half of what another still has. Each has servers of its own.
const SIDE_BY_SIDE = ["-n", `${availableParallelism() + 1}`, "--dist=worksteal"];

// Node takes its test files last, and a report path is known only when the stage runs.
const nodeTests = (folder, args = []) => ({
  command: process.execPath,
  args: ["--test", ...args],
  report: (path) => [...nodeReport(path), ...filesBelow(at(folder)).filter(isTest)],
});

const isTest = (path) => path.endsWith(".test.mjs");

// Each file has a server of its own, and mostly waits for it: more files at a time than cores, which
// Node can do from 20.10 on.
const [major, minor] = process.versions.node.split(".").map(Number);
const WAITING = major > 20 || minor >= 10 ? ["--test-concurrency=4"] : [];

// An author's type checker knows the type of everything that is public; of an adapter where its
// framework is.
const publicTypes = (python, module, without = []) => ({
  command: process.execPath,
  args: [
    at("scripts", "publicTypes.mjs"),
    ...without.flatMap((one) => ["--without", one]),
    python,
    module,
  ],
});

const ADAPTERS = ["sayso.frameworks", ...FRAMEWORKS.flatMap(({ module = [] }) => module)];

const WHEEL = "e2e/test_wheel.py";
const PROXY = "e2e/test_proxy.py";
const AGENT_FRAMEWORK_CLIENT = "e2e/test_agent_framework_client.py";
const COPILOTKIT = ["", "_elsewhere", "_node", "_v1"].map(
  (name) => `e2e/test_copilotkit${name}.py`,
);
const ASSISTANT_UI = ["e2e/test_assistant_ui.py"];

const SCHEDULES = [
  "tests/crash/test_schedules.py",
  "tests/crash/test_schedules_on_disk.py",
  "tests/process/test_schedules.py",
];

const pageOf = (example) => ({
  name: `${example}:page`,
  aside: true,
  needs: [example],
  commands: [{ command: "npm", args: ["run", "types", "--prefix", `examples/${example}`] }],
});

const testsOf = (example, tests) => ({
  name: `${example}:tests`,
  needs: ["tests", example, "browser"],
  commands: pytest([...SIDE_BY_SIDE, ...tests]),
});

// The adapters, each beside the version of its framework that has an environment.
const ofFramework = (framework) => ({
  name: stageOf(framework),
  needs: [stageOf(framework), "node"],
  commands: [
    ...pytest([...SIDE_BY_SIDE, ...framework.tests]).map((command) => ({
      ...command,
      command: pythonOf(framework),
      args: ["-m", "pytest", ...command.args],
    })),
    ...(framework.module ? [publicTypes(pythonOf(framework), framework.module)] : []),
  ],
});

// name: what a developer selects, whole or by what stands before the colon.
// needs: what setup brings up for it. A command with a report must execute at least one test.
// aside: looks at files, or waits for a network or a server most of the time: several at a time.
// long: plays more of what another stage plays a part of; only when it is asked for.
export const stages = () => [
  {
    name: "python:types",
    aside: true,
    needs: ["tests", "node"],
    commands: [
      python("mypy", []),
      tool("pyright", []),
      publicTypes(venvBin("python"), "sayso", ADAPTERS),
    ],
  },
  {
    name: "python:format",
    aside: true,
    needs: ["tests"],
    commands: [python("ruff", ["format", "--check", "."])],
  },
  {
    name: "python:lint",
    aside: true,
    needs: ["tests"],
    commands: [python("ruff", ["check", "."])],
  },
  { name: "web:lint", aside: true, needs: ["node"], commands: inEachWorkspace("lint") },
  { name: "web:types", aside: true, needs: ["node"], commands: inEachWorkspace("types") },
  { name: "web:format", aside: true, needs: ["node"], commands: inEachWorkspace("format") },
  { name: "house:format", aside: true, needs: ["node"], commands: [tool("prettier", PRETTIER)] },
  {
    name: "house:lint",
    aside: true,
    needs: ["node"],
    commands: [tool("eslint", ["--max-warnings=0", ...HOUSE])],
  },
  { name: "house:tests", needs: [], commands: [nodeTests("tests/house")] },
  { name: "python:tests", needs: ["tests", "node"], commands: pytest(SIDE_BY_SIDE) },
  {
    name: "web:tests",
    needs: ["node"],
    commands: inEachWorkspace("test", { report: vitestReport }),
  },
  { name: "web:build", needs: ["web"], commands: [] },
  { name: "wheel", aside: true, needs: ["tests", "web"], commands: pytest([WHEEL]) },
  {
    name: "clients",
    aside: true,
    needs: ["tests", "node"],
    commands: [nodeTests("tests/clients", WAITING)],
  },
  pageOf("copilotkit"),
  { name: "proxy", aside: true, needs: ["tests", "nginx"], commands: pytest([PROXY]) },
  pageOf("assistant-ui"),
  {
    name: "agent-framework-client",
    aside: true,
    needs: ["tests", "agent-framework-client"],
    commands: pytest([AGENT_FRAMEWORK_CLIENT]),
  },
  {
    name: "browser",
    needs: ["tests", "web", "browser"],
    commands: pytest([
      "e2e",
      ...SIDE_BY_SIDE,
      ...[WHEEL, ...COPILOTKIT, ...ASSISTANT_UI, PROXY, AGENT_FRAMEWORK_CLIENT].map(
        (path) => `--ignore=${path}`,
      ),
    ]),
  },
  ...FRAMEWORKS.map(ofFramework),
  testsOf("copilotkit", COPILOTKIT),
  testsOf("assistant-ui", ASSISTANT_UI),
  {
    name: "schedules",
    long: true,
    needs: ["tests", "node"],
    commands: pytest([...SIDE_BY_SIDE, ...SCHEDULES]).map((command) => ({
      ...command,
      env: { SAYSO_SCHEDULES: "all" },
    })),
  },
];

// The stages whose name, or group before the colon, was asked for; all but long ones when none was.
export function select(all, requested) {
  const unknown = requested.filter((word) => !all.some((stage) => answersTo(stage, word)));
  if (unknown.length > 0) return { unknown, chosen: [] };
  const chosen = all.filter((stage) =>
    requested.length === 0 ? !stage.long : requested.some((word) => answersTo(stage, word)),
  );
  return { unknown, chosen };
}

const answersTo = ({ name }, word) => name === word || name.startsWith(`${word}:`);
