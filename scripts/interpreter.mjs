// The Python that environments are made with.
import { read } from "./command.mjs";
import { Failure } from "./failure.mjs";

const OLDEST = [3, 11];
const CANDIDATES = ["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python"];
// The base of an active environment: ours may be the active one, and is about to be remade.
const ASK =
  "import sys, venv, ensurepip; print('%d.%d.%d' % sys.version_info[:3], sys._base_executable)";
const ASK_VERSION = "import sys; print('%d.%d.%d' % sys.version_info[:3])";

const isRecent = (version) => {
  const [major, minor] = version.split(".").map(Number);
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
};

// What one candidate is: usable, or the reason why not.
function examine(name) {
  const version = read(name, ["-c", ASK_VERSION]);
  if (version === null) return { name, reason: "not found" };
  if (!isRecent(version)) return { name, reason: `is Python ${version}` };
  const answer = read(name, ["-c", ASK]);
  if (answer === null) return { name, reason: `is Python ${version} without the venv module` };
  return { name, version, executable: answer.slice(answer.indexOf(" ") + 1) };
}

// The interpreter to use: `PYTHON` when it is set, else the first fit one on the path.
export function findPython() {
  const named = process.env.PYTHON;
  const examined = [];
  for (const name of named ? [named] : CANDIDATES) {
    const candidate = examine(name);
    if (candidate.executable) return candidate;
    examined.push(candidate);
  }
  const seen = examined.filter(({ reason }) => named || reason !== "not found");
  const versions =
    seen.map(({ name, reason }) => `${name} ${reason}`).join("; ") || "no Python at all";
  throw new Failure(
    `Python ${OLDEST.join(".")} or newer with the venv module is needed; found: ${versions}.\n` +
      "Install it (on Debian or Ubuntu: apt-get install python3 python3-venv), or name one: PYTHON=/path/to/python3.",
  );
}
