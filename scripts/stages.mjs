// The stages of npm test. A stage is a list of commands; those of a suite leave a report.
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

// The large suites have one process more than there are cores, since some always wait for a server, a
// page or a lease; the small ones, in which each process spends more on its own servers and imports,
// have as many. Who has nothing left to do takes over half of what another still has.
const CORES = availableParallelism();
const inProcesses = (count) => ["-n", `${count}`, "--dist=worksteal"];
const LARGE = CORES + 1;

// How many processes there are at a time: two large suites, or one and others beside it. What waits
// for a registry or a page leaves the cores to the rest.
export const SLOTS = 2 * LARGE;

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
const SMOOTHNESS = "e2e/test_smoothness.py";
const PROXY = "e2e/test_proxy.py";
const AGENT_FRAMEWORK_CLIENT = "e2e/test_agent_framework_client.py";
const COPILOTKIT = ["", "_elsewhere", "_node", "_v1"].map(
  (name) => `e2e/test_copilotkit${name}.py`,
);
const ASSISTANT_UI = ["e2e/test_assistant_ui.py"];

// What plays a share of its cases in `npm test`: `tests/share.py`.
const SCHEDULES = [
  "tests/crash/test_schedules.py",
  "tests/crash/test_schedules_on_disk.py",
  "tests/process/test_killed_commands.py",
  "tests/process/test_killed_secrets.py",
  "tests/process/test_schedules.py",
  "tests/contract/test_random_clients.py",
  "tests/contract/test_random_dialects.py",
  "tests/contract/test_states_sent.py",
  "tests/fuzz",
  "tests/property",
  "tests/stores/test_equivalence.py",
  "tests/stores/test_step.py",
  "tests/turns/test_programs.py",
  "tests/unit/test_turnstate.py",
  "tests/unit/test_usage.py",
];

const pageOf = (example) => ({
  name: `${example}:page`,
  needs: [example],
  commands: [{ command: "npm", args: ["run", "types", "--prefix", `examples/${example}`] }],
});

const testsOf = (example, tests) => ({
  name: `${example}:tests`,
  needs: ["tests", example, "browser"],
  slots: CORES,
  commands: pytest([...inProcesses(CORES), ...tests]),
});

// The adapters, each beside the version of its framework that has an environment.
const ofFramework = (framework) => ({
  name: stageOf(framework),
  needs: [stageOf(framework), "node"],
  slots: CORES,
  commands: [
    ...pytest([...inProcesses(CORES), ...framework.tests]).map((command) => ({
      ...command,
      command: pythonOf(framework),
      args: ["-m", "pytest", ...command.args],
    })),
    ...(framework.module ? [publicTypes(pythonOf(framework), framework.module)] : []),
  ],
});

// In the order in which they begin, those that take longest first: what is short fills in at the end.
//
// name: what a developer selects, whole or by what stands before the colon.
// needs: what setup brings up for it. A command with a report must execute at least one test.
// slots: how many processes it keeps busy, if not one.
// long: plays more of what another stage plays a part of, or measures what others beside it would
// disturb; only when it is asked for.
export const stages = () => [
  {
    name: "python:tests",
    needs: ["tests", "node"],
    slots: LARGE,
    commands: pytest(inProcesses(LARGE)),
  },
  {
    name: "browser",
    needs: ["tests", "web", "browser"],
    slots: LARGE,
    commands: pytest([
      "e2e",
      ...inProcesses(LARGE),
      ...[
        ...[WHEEL, SMOOTHNESS, PROXY, AGENT_FRAMEWORK_CLIENT],
        ...[...COPILOTKIT, ...ASSISTANT_UI],
      ].map((path) => `--ignore=${path}`),
    ]),
  },
  pageOf("copilotkit"),
  testsOf("copilotkit", COPILOTKIT),
  {
    name: "python:types",
    needs: ["tests", "node"],
    commands: [
      python("mypy", []),
      tool("pyright", []),
      publicTypes(venvBin("python"), "sayso", ADAPTERS),
    ],
  },
  ...FRAMEWORKS.map(ofFramework),
  // One run for all workspaces: what a checker knows of the types of one, it knows of the next.
  {
    name: "web:lint",
    needs: ["node"],
    commands: [{ ...tool("eslint", ["."]), cwd: at("web") }],
  },
  pageOf("assistant-ui"),
  testsOf("assistant-ui", ASSISTANT_UI),
  {
    name: "web:tests",
    needs: ["node"],
    slots: CORES,
    commands: inEachWorkspace("test", { report: vitestReport }),
  },
  { name: "wheel", needs: ["tests", "web"], commands: pytest([WHEEL]) },
  {
    name: "clients",
    needs: ["tests", "node"],
    slots: CORES,
    commands: [nodeTests("tests/clients", WAITING)],
  },
  { name: "proxy", needs: ["tests", "nginx"], commands: pytest([PROXY]) },
  {
    name: "agent-framework-client",
    needs: ["tests", "agent-framework-client"],
    commands: pytest([AGENT_FRAMEWORK_CLIENT]),
  },
  { name: "web:types", needs: ["node"], commands: [tool("tsc", ["--project", "web"])] },
  { name: "web:format", needs: ["node"], commands: inEachWorkspace("format") },
  { name: "web:build", needs: ["web"], commands: [] },
  { name: "house:format", needs: ["node"], commands: [tool("prettier", PRETTIER)] },
  {
    name: "house:lint",
    needs: ["node"],
    commands: [tool("eslint", ["--max-warnings=0", ...HOUSE])],
  },
  { name: "house:tests", needs: [], commands: [nodeTests("tests/house")] },
  {
    name: "python:format",
    needs: ["tests"],
    commands: [python("ruff", ["format", "--check", "."])],
  },
  { name: "python:lint", needs: ["tests"], commands: [python("ruff", ["check", "."])] },
  {
    name: "smoothness",
    long: true,
    needs: ["tests", "web", "browser"],
    slots: SLOTS,
    commands: pytest([SMOOTHNESS]),
  },
  {
    name: "attacks",
    long: true,
    needs: ["tests", "node"],
    slots: LARGE,
    commands: pytest([...inProcesses(LARGE), "tests/attacks"]).map((command) => ({
      ...command,
      env: { SAYSO_ATTACKS: "all" },
    })),
  },
  {
    name: "schedules",
    long: true,
    needs: ["tests", "node"],
    slots: LARGE,
    commands: pytest([...inProcesses(LARGE), ...SCHEDULES]).map((command) => ({
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
