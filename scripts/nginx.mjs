// The nginx for the proxy suite: found, or unpacked from Debian's package without installing it, so
// that no service is set up and none is started.
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

import { cache } from "./checkout.mjs";
import { runOrFail, run } from "./command.mjs";
import { findProgram, isDebian, isExecutable, isRoot, withApt } from "./debian.mjs";
import { Failure } from "./failure.mjs";

const CACHE = join(cache, "nginx");
const UNPACKED = join(CACHE, "usr", "sbin", "nginx");

const find = () =>
  findProgram(["nginx"], ["/usr/sbin", "/usr/local/sbin"]) ??
  (isExecutable(UNPACKED) ? UNPACKED : null);

async function unpack() {
  rmSync(CACHE, { recursive: true, force: true });
  mkdirSync(CACHE, { recursive: true });
  if (isRoot()) await runOrFail("apt-get", ["update", "-qq"]);
  // As the one who asks, since the folder may be closed to apt's own user.
  const download = ["-qq", "-o", "APT::Sandbox::User=root", "download", "nginx"];
  await runOrFail("apt-get", download, { cwd: CACHE });
  const [archive] = readdirSync(CACHE).filter((name) => name.endsWith(".deb"));
  await runOrFail("dpkg", ["-x", join(CACHE, archive), CACHE]);
}

// The path of an nginx: `SAYSO_NGINX` when set, else the first one found.
export async function setUpNginx() {
  const named = process.env.SAYSO_NGINX;
  if (named) {
    if (isExecutable(named)) return named;
    throw new Failure(`SAYSO_NGINX names ${named}, which is not a program.`);
  }
  const executable = find();
  if (executable) return executable;
  if (isDebian()) {
    console.log("Unpacking nginx for the proxy tests …");
    await withApt(unpack);
    if ((await run(UNPACKED, ["-v"])) === 0) return UNPACKED;
  }
  throw new Failure(
    "the proxy tests need nginx, and none was found. Install it (on Debian: apt-get install " +
      "nginx-light), or name one: SAYSO_NGINX=/path/to/nginx.",
  );
}
