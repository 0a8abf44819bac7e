// Python: the virtual environment with pinned packages, and the package itself.
import { existsSync, rmSync } from "node:fs";

import { at, root, venv, venvBin } from "./checkout.mjs";
import { runOrFail } from "./command.mjs";
import { findPython } from "./interpreter.mjs";
import { digest, unlessStamped } from "./stamp.mjs";
import { install, installCheckout } from "./uv.mjs";

const PYTHON = venvBin("python");
const stamp = (name) => `${venv}/.sayso-${name}`;

function facts() {
  const { version, executable } = findPython();
  return [version, executable, root];
}

// Brings .venv to what the locks of the runtime say.
export async function setUpPython() {
  const { version, executable } = findPython();
  const runtime = [at("requirements.lock"), at("requirements-build.lock")];
  if (!existsSync(PYTHON)) rmSync(venv, { recursive: true, force: true });

  await unlessStamped(stamp("runtime"), digest(runtime, facts()), async () => {
    console.log(`Setting up .venv with Python ${version} …`);
    rmSync(venv, { recursive: true, force: true });
    await runOrFail(executable, ["-m", "venv", venv]);
    await install(PYTHON, ...runtime);
  });
  const project = [at("pyproject.toml"), at("hatch_build.py")];
  await unlessStamped(stamp("project"), digest(project, facts()), () => installCheckout(PYTHON));
}

// Adds to .venv what the tests need.
export async function setUpTests() {
  const lock = at("requirements-dev.lock");
  await unlessStamped(stamp("tests"), digest([lock], facts()), async () => {
    console.log("Adding what the tests need to .venv …");
    await install(PYTHON, lock);
  });
}
