// The client of Microsoft's Agent Framework: an environment of its own, for its suite alone.
import { rmSync } from "node:fs";
import { join } from "node:path";

import { at, cache } from "./checkout.mjs";
import { runOrFail } from "./command.mjs";
import { findPython } from "./python.mjs";
import { digest, unlessStamped } from "./stamp.mjs";

const FOLDER = join(cache, "agent-framework-client");
const LOCK = at("requirements-agent-framework-client.lock");

// The path of a Python that has the client.
export async function setUpAgentFrameworkClient() {
  const { version, executable } = findPython();
  const python = join(FOLDER, "bin", "python");
  await unlessStamped(
    `${FOLDER}/.sayso-packages`,
    digest([LOCK], [version, executable]),
    async () => {
      console.log("Setting up the client of Agent Framework …");
      rmSync(FOLDER, { recursive: true, force: true });
      await runOrFail(executable, ["-m", "venv", FOLDER]);
      await runOrFail(
        python,
        [
          "-m",
          "pip",
          "--disable-pip-version-check",
          "--no-input",
          "--quiet",
          "install",
          "--require-hashes",
          "-r",
          LOCK,
        ],
        { advice: "Is a package index in reach? The lines above say what pip missed." },
      );
    },
  );
  return python;
}
