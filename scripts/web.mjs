// The built web: what the server serves and the wheel carries.
import { existsSync, rmSync } from "node:fs";

import { at } from "./checkout.mjs";
import { runOrFail } from "./command.mjs";
import { Failure } from "./failure.mjs";
import { stampInNodeModules } from "./node.mjs";
import { digest, filesBelow, unlessStamped } from "./stamp.mjs";

const BUILT = ["web/react/dist/index.js", "web/console/dist/index.html"];

const missing = () => BUILT.find((path) => !existsSync(at(path)));

// Builds the workspaces in the order of package.json, unless nothing they are made of has changed.
export async function buildWeb() {
  const sources = filesBelow(at("web"), { except: ["node_modules", "dist", "coverage"] });
  const value = digest([...sources, at("package-lock.json")], [process.version]);
  const stamp = stampInNodeModules("web-build");
  if (missing()) rmSync(stamp, { force: true });
  await unlessStamped(stamp, value, async () => {
    console.log("Building the web …");
    await runOrFail("npm", ["run", "build", "--workspaces"], {
      advice: "The lines above say why.",
    });
    if (missing()) throw new Failure(`the web build left no ${missing()}.`);
  });
}
