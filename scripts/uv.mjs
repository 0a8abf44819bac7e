// uv, which installs packages for Python: brought in by pip, once for all environments.
import { rmSync } from "node:fs";
import { join } from "node:path";

import { at, cache, root } from "./checkout.mjs";
import { read, runOrFail } from "./command.mjs";
import { findPython } from "./interpreter.mjs";
import { digest, unlessStamped } from "./stamp.mjs";

const FOLDER = join(cache, "uv");
const LOCK = at("requirements-uv.lock");
const PIP = ["-m", "pip", "--disable-pip-version-check", "--no-input"];
const ADVICE = "Is a package index in reach? The lines above say what was missed.";

export async function setUpUv() {
  const { version, executable } = findPython();
  const value = digest([LOCK], [version, executable]);
  await unlessStamped(join(FOLDER, ".sayso-packages"), value, async () => {
    rmSync(FOLDER, { recursive: true, force: true });
    await runOrFail(executable, ["-m", "venv", FOLDER]);
    const install = [...PIP, "--quiet", "install", "--require-hashes", "-r", LOCK];
    await runOrFail(join(FOLDER, "bin", "python"), install, { advice: ADVICE });
  });
}

// What pip is set up with, in the words of uv: it asks the same index, with the same certificates.
export function settings(pip) {
  const ofPip = (name) =>
    pip.match(new RegExp(`^(?:global|install|:env:)\\.${name}='(.*)'$`, "m"))?.[1];
  const values = { UV_DEFAULT_INDEX: ofPip("index-url"), SSL_CERT_FILE: ofPip("cert") };
  return Object.fromEntries(
    Object.entries(values).filter(([name, value]) => value && !process.env[name]),
  );
}

let env = null;

export function uv(args, options = {}) {
  env ??= {
    UV_PYTHON_DOWNLOADS: "never",
    ...settings(read(join(FOLDER, "bin", "python"), [...PIP, "config", "list"]) ?? ""),
  };
  return runOrFail(join(FOLDER, "bin", "uv"), args, { env, advice: ADVICE, ...options });
}

// An empty environment; pip is not in it.
export const createEnvironment = (folder) =>
  uv(["venv", "--quiet", "--clear", `--python=${findPython().executable}`, folder]);

const intoEnvironment = (python, args) =>
  uv(["pip", "install", "--quiet", `--python=${python}`, ...args]);

// Installs exactly what locks say, each file with the hash that stands there.
export const install = (python, ...locks) =>
  intoEnvironment(python, ["--require-hashes", ...locks.flatMap((lock) => ["-r", lock])]);

// Installs the package itself from the checkout; what it is built with is in the environment.
export const installCheckout = (python) =>
  intoEnvironment(python, ["--no-deps", "--no-build-isolation", "--editable", root]);
