// npm test: sets up what the suites need and runs them, several stages at a time.
import { Buffer } from "node:buffer";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { collect, run } from "./command.mjs";
import { Failure, exitWith } from "./failure.mjs";
import { problemWith, readReport } from "./report.mjs";
import { playAll } from "./schedule.mjs";
import { setupTasks, tasksOf } from "./setup.mjs";
import { SLOTS, select, stages } from "./stages.mjs";

const USAGE =
  "npm test -- [--keep-going] [stage or group …] [-- arguments for the stage's commands]";

// Many times what any command takes: one that hangs among others, where nobody sees it, ends with a word.
const STAGE_MINUTES = 40;

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
async function execute({ command, args, report, cwd, env: own }, path, circumstances) {
  const { passedOn, env, totals, alone } = circumstances;
  const all = [...args, ...passedOn, ...(report?.(path) ?? [])];
  const minutes = alone ? undefined : STAGE_MINUTES;
  const exitCode = await run(command, all, { env: { ...env, ...own }, cwd, minutes });
  const counts = report ? readReport(path) : null;
  totals.passed += counts?.passed ?? 0;
  totals.failed += counts?.failed ?? 0;
  if (exitCode !== 0) return `exit code ${exitCode}`;
  return report ? problemWith(counts) : null;
}

// Runs one stage up to the first thing that is wrong with it, or, keeping going, to its end.
async function perform(stage, circumstances) {
  const faults = [];
  for (const [index, command] of stage.commands.entries()) {
    const report = `${stage.name.replace(":", "-")}-${index}.xml`;
    const wrong = await execute(command, join(circumstances.reports, report), circumstances);
    if (wrong) faults.push(wrong);
    if (wrong && !circumstances.keepGoing) break;
  }
  return faults.join("; ") || null;
}

const taskOf = (stage, circumstances) => ({
  name: stage.name,
  needs: tasksOf(stage.needs),
  slots: stage.slots ?? 1,
  play: () => {
    console.log(`\n=== ${stage.name}${circumstances.alone ? "" : " begins"}`);
    return perform(stage, circumstances);
  },
});

// The stages and all that they need, each setup before the first that needs it.
function tasksFor(chosen, circumstances) {
  const tasks = chosen.flatMap((stage) => [
    ...setupTasks(stage.needs, circumstances.env),
    taskOf(stage, circumstances),
  ]);
  return [...new Map(tasks.map((task) => [task.name, task])).values()];
}

const seconds = (since) => `${((performance.now() - since) / 1000).toFixed(1)} s`;

// As the task, but it says what came of it and how long that took. What its commands say is shown when
// it is over, or, if there is one stage alone, at once.
const shown = (task, { alone, took }) => ({
  ...task,
  play: async () => {
    const since = performance.now();
    const said = [];
    const end = (verdict) => {
      took.set(task.name, seconds(since));
      if (said.length > 0) process.stdout.write(`\n=== ${task.name}\n${Buffer.concat(said)}`);
      console.log(`=== ${task.name}: ${verdict} in ${seconds(since)}`);
    };
    try {
      const wrong = await (alone ? task.play() : collect(said, task.play));
      end(wrong ?? "passed");
      return wrong;
    } catch (error) {
      end(error.message);
      throw error;
    }
  },
});

function summarize(tasks, outcomes, took) {
  console.log("\nStages");
  for (const { name } of tasks) {
    const wrong = outcomes.get(name);
    const verdict = wrong === undefined ? "not run" : wrong ? `failed: ${wrong}` : "passed";
    console.log(`  ${name.padEnd(33)} ${(took.get(name) ?? "").padStart(8)}  ${verdict}`);
  }
}

async function main() {
  const { keepGoing, wanted, passedOn } = parse(process.argv.slice(2));
  const chosen = choose(wanted);
  const since = performance.now();
  const totals = { passed: 0, failed: 0 };
  const took = new Map();
  const reports = mkdtempSync(join(tmpdir(), "sayso-reports-"));
  // Hundreds of processes import the package and the tests: what one of them has compiled is there
  // for all others, also where Python is told to write nothing.
  const env = { PYTHONDONTWRITEBYTECODE: "" };
  const alone = chosen.length === 1;
  const tasks = tasksFor(chosen, { reports, passedOn, env, totals, keepGoing, alone });
  let outcomes;
  try {
    const played = tasks.map((task) => shown(task, { alone, took }));
    outcomes = await playAll(played, { slots: SLOTS, keepGoing });
  } finally {
    rmSync(reports, { recursive: true, force: true });
  }
  summarize(tasks, outcomes, took);
  console.log(`All of it took ${seconds(since)}.`);
  const failed = tasks.some(({ name }) => outcomes.get(name) !== null);
  // The closing line speaks of tests, so it is left out when something other than a test failed.
  const ran = totals.passed + totals.failed > 0;
  if (ran && failed === totals.failed > 0) {
    console.log(`\n${totals.passed} passed, ${totals.failed} failed`);
  }
  return failed ? 1 : 0;
}

await exitWith(main);
