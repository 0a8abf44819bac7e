// npm test: sets up what the suites need and runs them, stage by stage.
import { Buffer } from "node:buffer";
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";

import { run } from "./command.mjs";
import { EXAMPLES } from "./example.mjs";
import { Failure, Interrupted, exitWith } from "./failure.mjs";
import { problemWith, readReport } from "./report.mjs";
import { setUp } from "./setup.mjs";
import { setUpBrowser } from "./browser.mjs";
import { setUpAgentFrameworkClient } from "./agentFrameworkClient.mjs";
import { FRAMEWORKS, setUpFramework, stageOf } from "./frameworks.mjs";
import { setUpNginx } from "./nginx.mjs";
import { select, stages } from "./stages.mjs";

const USAGE =
  "npm test -- [--keep-going] [stage or group …] [-- arguments for the stage's commands]";

// Pages are built by the first stage that needs them: what stands before can fail without. Named
// here is what their building needs of the setup before.
const LATE = { web: "node", ...Object.fromEntries(EXAMPLES.map((name) => [name, null])) };

function parse(argv) {
  const split = argv.indexOf("--");
  const own = split < 0 ? argv : argv.slice(0, split);
  const unknown = own.filter((word) => word.startsWith("-") && word !== "--keep-going");
  if (unknown.length > 0) throw new Failure(`unknown option ${unknown[0]}. Usage: ${USAGE}`, 2);
  return {
    keepGoing: own.includes("--keep-going"),
    wanted: own.filter((word) => !word.startsWith("-")),
    passedOn: split < 0 ? [] : argv.slice(split + 1),
  };
}

function choose(requested) {
  const all = stages();
  const { unknown, chosen } = select(all, requested);
  if (unknown.length === 0) return chosen;
  const names = all.map(({ name }) => name).join(", ");
  throw new Failure(`no stage or group is called ${unknown.join(", ")}. The stages: ${names}.`, 2);
}

// Runs one command of a stage; resolves to null when it is fine, else to what is wrong with it.
async function execute({ command, args, report, env: own }, path, { passedOn, env, totals, said }) {
  const all = [...args, ...passedOn, ...(report?.(path) ?? [])];
  const exitCode = await run(command, all, { env: { ...env, ...own }, said });
  const counts = report ? readReport(path) : null;
  totals.passed += counts?.passed ?? 0;
  totals.failed += counts?.failed ?? 0;
  if (exitCode !== 0) return `exit code ${exitCode}`;
  return report ? problemWith(counts) : null;
}

// Runs one stage up to the first thing that is wrong with it, or, keeping going, to its end.
async function perform(stage, circumstances) {
  const late = stage.needs.filter((need) => need in LATE);
  if (late.length > 0) await setUp(new Set(late));
  const faults = [];
  for (const [index, command] of stage.commands.entries()) {
    const report = `${stage.name.replace(":", "-")}-${index}.xml`;
    const wrong = await execute(command, join(circumstances.reports, report), circumstances);
    if (wrong) faults.push(wrong);
    if (wrong && !circumstances.keepGoing) break;
  }
  return faults.join("; ") || null;
}

// As `perform`, for a stage that could not even begin: the build it needs, or its command, failed.
async function attempt(stage, circumstances) {
  try {
    return await perform(stage, circumstances);
  } catch (error) {
    if (error instanceof Failure && !(error instanceof Interrupted)) return error.message;
    throw error;
  }
}

// Plays a stage and says what came of it; what one played aside has said is shown when it is over.
async function play(stage, circumstances, results) {
  const said = stage.aside ? [] : undefined;
  if (!said) console.log(`\n=== ${stage.name}`);
  const since = performance.now();
  const wrong = await attempt(stage, { ...circumstances, said });
  results.set(stage.name, { wrong, took: seconds(since) });
  if (said) process.stdout.write(`\n=== ${stage.name}\n${Buffer.concat(said)}`);
  console.log(`=== ${stage.name}: ${wrong ?? "passed"} in ${seconds(since)}`);
}

// Plays those that go aside and follow each other on all cores, and all other stages one by one.
async function playAll(chosen, circumstances, results) {
  const left = [...chosen];
  while (left.length > 0) {
    const suite = left.findIndex(({ aside }) => !aside);
    const next = left.splice(0, suite < 0 ? left.length : Math.max(suite, 1));
    const lane = async () => {
      while (next.length > 0) await play(next.shift(), circumstances, results);
    };
    await Promise.all(Array.from({ length: availableParallelism() }, lane));
    if (!circumstances.keepGoing && [...results.values()].some(({ wrong }) => wrong)) return;
  }
}

const seconds = (since) => `${((performance.now() - since) / 1000).toFixed(1)} s`;

function summarize(chosen, results) {
  console.log("\nStages");
  for (const { name } of chosen) {
    const result = results.get(name);
    const verdict = result ? (result.wrong ? `failed: ${result.wrong}` : "passed") : "not run";
    console.log(`  ${name.padEnd(18)} ${(result?.took ?? "").padStart(8)}  ${verdict}`);
  }
}

async function main() {
  const { keepGoing, wanted, passedOn } = parse(process.argv.slice(2));
  const chosen = choose(wanted);
  const needs = new Set(chosen.flatMap((stage) => stage.needs));
  const started = performance.now();
  await setUp(new Set([...needs].map((need) => (need in LATE ? LATE[need] : need))));
  for (const framework of FRAMEWORKS) {
    if (needs.has(stageOf(framework))) await setUpFramework(framework);
  }
  const env = {
    // Hundreds of processes import the package and the tests: what one of them has compiled is there
    // for all others, also where Python is told to write nothing.
    PYTHONDONTWRITEBYTECODE: "",
    ...(needs.has("browser") && { SAYSO_BROWSER: await setUpBrowser() }),
    ...(needs.has("nginx") && { SAYSO_NGINX: await setUpNginx() }),
    ...(needs.has("agent-framework-client") && {
      SAYSO_AGENT_FRAMEWORK_CLIENT: await setUpAgentFrameworkClient(),
    }),
  };
  console.log(`Set up in ${seconds(started)}.`);

  const reports = mkdtempSync(join(tmpdir(), "sayso-reports-"));
  const totals = { passed: 0, failed: 0 };
  const results = new Map();
  try {
    await playAll(chosen, { reports, passedOn, env, totals, keepGoing }, results);
  } finally {
    rmSync(reports, { recursive: true, force: true });
  }
  summarize(chosen, results);
  const failed = [...results.values()].some(({ wrong }) => wrong);
  // The closing line speaks of tests, so it is left out when something other than a test failed.
  const ran = totals.passed + totals.failed > 0;
  if (ran && failed === totals.failed > 0) {
    console.log(`\n${totals.passed} passed, ${totals.failed} failed`);
  }
  return failed ? 1 : 0;
}

await exitWith(main);
