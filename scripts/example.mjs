// The CopilotKit example: packages of its own, which nothing else needs, and the page built of them.
import { existsSync, rmSync } from "node:fs";

import { at } from "./checkout.mjs";
import { must } from "./command.mjs";
import { Failure } from "./failure.mjs";
import { checkNode } from "./node.mjs";
import { digest, filesBelow, unlessStamped } from "./stamp.mjs";

const FOLDER = at("examples", "copilotkit");
const within = (...parts) => at("examples", "copilotkit", ...parts);

async function install() {
  const inputs = ["package-lock.json", "package.json", ".npmrc"].map((name) => within(name));
  const value = digest(inputs, [process.version, process.platform, process.arch]);
  await unlessStamped(within("node_modules", ".sayso-packages"), value, async () => {
    console.log("Setting up the CopilotKit example …");
    await must("npm", ["ci", "--include=dev", "--no-audit", "--no-fund", "--loglevel=error"], {
      cwd: FOLDER,
      advice: "Is a package registry in reach? The lines above say what npm missed.",
    });
  });
}

// Installs what the example's own lock says and builds its page, unless that is done already.
export async function buildExample() {
  checkNode();
  await install();
  const page = within("dist", "index.html");
  const sources = filesBelow(FOLDER, { except: ["node_modules", "dist"] });
  const stamp = within("node_modules", ".sayso-page");
  if (!existsSync(page)) rmSync(stamp, { force: true });
  const value = digest(sources, [process.version]);
  await unlessStamped(stamp, value, async () => {
    await must("npm", ["run", "build", "--", "--logLevel=error"], {
      cwd: FOLDER,
      advice: "The lines above say why.",
    });
    if (!existsSync(page)) throw new Failure(`the example's build left no ${page}.`);
  });
}
