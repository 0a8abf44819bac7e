// The client of Microsoft's Agent Framework: an environment of its own, for its suite alone.
import { join } from "node:path";

import { at, cache } from "./checkout.mjs";
import { findPython } from "./interpreter.mjs";
import { digest, unlessStamped } from "./stamp.mjs";
import { createEnvironment, install } from "./uv.mjs";

const FOLDER = join(cache, "agent-framework-client");
const LOCK = at("requirements-agent-framework-client.lock");

// The path of a Python that has the client.
export async function setUpAgentFrameworkClient() {
  const { version, executable } = findPython();
  const python = join(FOLDER, "bin", "python");
  const value = digest([LOCK], [version, executable]);
  await unlessStamped(`${FOLDER}/.sayso-packages`, value, async () => {
    console.log("Setting up the client of Agent Framework …");
    await createEnvironment(FOLDER);
    await install(python, LOCK);
  });
  return python;
}
