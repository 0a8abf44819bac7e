// Node: its version, and node_modules as package-lock.json says.
import { join } from "node:path";

import { at, nodeModules, workspaces } from "./checkout.mjs";
import { runOrFail } from "./command.mjs";
import { Failure } from "./failure.mjs";
import { digest, unlessStamped } from "./stamp.mjs";

const MIN_NODE_MAJOR = 20;

export function checkNode(version = process.versions.node) {
  if (Number(version.split(".")[0]) >= MIN_NODE_MAJOR) return;
  throw new Failure(
    `Node ${MIN_NODE_MAJOR} or newer is needed; this is Node ${version} (${process.execPath}). ` +
      "Install a newer one and put it first on the path.",
  );
}

export const stampInNodeModules = (name) => join(nodeModules, `.sayso-${name}`);

// Installs exactly what the lock says, development packages included whatever NODE_ENV says.
export async function setUpNode() {
  checkNode();
  const inputs = ["package-lock.json", "package.json", ".npmrc"].map((name) => at(name));
  const manifests = workspaces().map((workspace) => at(workspace, "package.json"));
  const value = digest(
    [...inputs, ...manifests],
    [process.version, process.platform, process.arch],
  );
  await unlessStamped(stampInNodeModules("packages"), value, async () => {
    console.log("Setting up node_modules …");
    await runOrFail("npm", ["ci", "--include=dev", "--no-audit", "--no-fund", "--loglevel=error"], {
      advice: "Is a package registry in reach? The lines above say what npm missed.",
    });
  });
}
