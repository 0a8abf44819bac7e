// Python: the interpreter, the virtual environment with pinned packages, the package itself.
import { existsSync, rmSync } from "node:fs";

import { at, root, venv, venvBin } from "./checkout.mjs";
import { runOrFail, read } from "./command.mjs";
import { Failure } from "./failure.mjs";
import { digest, unlessStamped } from "./stamp.mjs";

const OLDEST = [3, 11];
const CANDIDATES = ["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python"];
// The base of an active environment: ours may be the active one, and is about to be remade.
const ASK =
  "import sys, venv, ensurepip; print('%d.%d.%d' % sys.version_info[:3], sys._base_executable)";
const ASK_VERSION = "import sys; print('%d.%d.%d' % sys.version_info[:3])";

const isRecent = (version) => {
  const [major, minor] = version.split(".").map(Number);
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
};

// What one candidate is: usable, or the reason why not.
function examine(name) {
  const version = read(name, ["-c", ASK_VERSION]);
  if (version === null) return { name, reason: "not found" };
  if (!isRecent(version)) return { name, reason: `is Python ${version}` };
  const answer = read(name, ["-c", ASK]);
  if (answer === null) return { name, reason: `is Python ${version} without the venv module` };
  return { name, version, executable: answer.slice(answer.indexOf(" ") + 1) };
}

// The interpreter to use: `PYTHON` when it is set, else the first fit one on the path.
export function findPython() {
  const named = process.env.PYTHON;
  const examined = [];
  for (const name of named ? [named] : CANDIDATES) {
    const candidate = examine(name);
    if (candidate.executable) return candidate;
    examined.push(candidate);
  }
  const seen = examined.filter(({ reason }) => named || reason !== "not found");
  const versions =
    seen.map(({ name, reason }) => `${name} ${reason}`).join("; ") || "no Python at all";
  throw new Failure(
    `Python ${OLDEST.join(".")} or newer with the venv module is needed; found: ${versions}.\n` +
      "Install it (on Debian or Ubuntu: apt-get install python3 python3-venv), or name one: PYTHON=/path/to/python3.",
  );
}

const PIP = ["-m", "pip", "--disable-pip-version-check", "--no-input", "--quiet"];
const ADVICE = "Is a package index in reach? The lines above say what pip missed.";

const pip = (...args) => runOrFail(venvBin("python"), [...PIP, ...args], { advice: ADVICE });

// Brings .venv to what the locks say: the runtime alone, or with everything that tests need.
export async function setUpPython({ tests = false } = {}) {
  const python = findPython();
  const runtime = [at("requirements.lock"), at("requirements-build.lock")];
  const facts = [python.version, python.executable, root];
  const stamp = (name) => `${venv}/.sayso-${name}`;
  if (!existsSync(venvBin("python"))) rmSync(venv, { recursive: true, force: true });

  await unlessStamped(stamp("runtime"), digest(runtime, facts), async () => {
    console.log(`Setting up .venv with Python ${python.version} …`);
    rmSync(venv, { recursive: true, force: true });
    await runOrFail(python.executable, ["-m", "venv", venv]);
    await pip("install", "--require-hashes", ...runtime.flatMap((lock) => ["-r", lock]));
  });
  if (tests) {
    const lock = at("requirements-dev.lock");
    await unlessStamped(stamp("tests"), digest([lock], facts), async () => {
      console.log("Adding what the tests need to .venv …");
      await pip("install", "--require-hashes", "-r", lock);
    });
  }
  const project = [at("pyproject.toml"), at("hatch_build.py")];
  await unlessStamped(stamp("project"), digest(project, facts), () =>
    pip("install", "--no-deps", "--no-build-isolation", "--editable", root),
  );
}
