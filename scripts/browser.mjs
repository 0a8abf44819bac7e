// The browser for the end-to-end suite: found, or installed where that needs no one's leave.
import { runOrFail } from "./command.mjs";
import { findProgram, isDebian, isExecutable, isRoot, withApt } from "./debian.mjs";
import { Failure } from "./failure.mjs";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const APPLICATIONS = [
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
];

const find = () => findProgram(NAMES) ?? APPLICATIONS.find(isExecutable) ?? null;

const mayInstall = () => isRoot() && isDebian();

async function install() {
  const env = { DEBIAN_FRONTEND: "noninteractive" };
  await runOrFail("apt-get", ["update", "-qq"], { env });
  const packages = ["chromium", "fonts-dejavu-core", "fonts-liberation"];
  const options = ["-y", "-qq", "--no-install-recommends"];
  await runOrFail("apt-get", ["install", ...options, ...packages], { env });
}

// The path of a Chromium or Chrome: `SAYSO_BROWSER` when set, else the first one found.
export async function setUpBrowser() {
  const named = process.env.SAYSO_BROWSER;
  if (named) {
    if (isExecutable(named)) return named;
    throw new Failure(`SAYSO_BROWSER names ${named}, which is not a program.`);
  }
  const executable = find();
  if (executable) return executable;
  if (mayInstall()) {
    console.log("Installing Chromium for the browser tests …");
    await withApt(install);
    const installed = find();
    if (installed) return installed;
  }
  throw new Failure(
    "the browser tests need Chromium or Chrome, and none was found. Install one (on Debian: " +
      "apt-get install chromium), or name one: SAYSO_BROWSER=/path/to/chromium.",
  );
}
