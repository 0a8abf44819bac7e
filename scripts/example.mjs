// An example with packages of its own, which nothing else needs, and the page built of them.
import { existsSync, rmSync } from "node:fs";

import { at } from "./checkout.mjs";
import { runOrFail } from "./command.mjs";
import { Failure } from "./failure.mjs";
import { checkNode } from "./node.mjs";
import { digest, filesBelow, unlessStamped } from "./stamp.mjs";

export const EXAMPLES = ["copilotkit", "assistant-ui"];

async function install(example) {
  const within = (...parts) => at("examples", example, ...parts);
  const inputs = ["package-lock.json", "package.json", ".npmrc"].map((name) => within(name));
  const value = digest(inputs, [process.version, process.platform, process.arch]);
  await unlessStamped(within("node_modules", ".sayso-packages"), value, async () => {
    console.log(`Setting up the example ${example} …`);
    await runOrFail("npm", ["ci", "--include=dev", "--no-audit", "--no-fund", "--loglevel=error"], {
      cwd: within(),
      advice: "Is a package registry in reach? The lines above say what npm missed.",
    });
  });
}

// Installs what an example's own lock says and builds its page, unless that is done already.
export async function buildExample(example) {
  const within = (...parts) => at("examples", example, ...parts);
  checkNode();
  await install(example);
  const page = within("dist", "index.html");
  const sources = filesBelow(within(), { except: ["node_modules", "dist"] });
  const stamp = within("node_modules", ".sayso-page");
  if (!existsSync(page)) rmSync(stamp, { force: true });
  const value = digest(sources, [process.version]);
  await unlessStamped(stamp, value, async () => {
    await runOrFail("npm", ["run", "build", "--", "--logLevel=error"], {
      cwd: within(),
      advice: "The lines above say why.",
    });
    if (!existsSync(page))
      throw new Failure(`the build of the example ${example} left no ${page}.`);
  });
}
