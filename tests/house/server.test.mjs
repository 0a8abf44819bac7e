// npm start stands between the terminal and the server: signals and exit codes pass through.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import test from "node:test";

const MODULE = new URL("../../scripts/server.mjs", import.meta.url).href;

// A process that serves `script`, as npm start serves the demo; its output comes line by line.
function start(t, script, ...args) {
  const serving = `import { serve } from ${JSON.stringify(MODULE)};
    process.exitCode = await serve(process.execPath, ["-e", ${JSON.stringify(script)}, ...${JSON.stringify(args)}]);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", serving], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
}

const WAIT_FOR_SIGNALS = `
  let heard = 0;
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => {
    console.log(signal);
    heard += 1;
    setTimeout(() => process.exit(heard === 1 ? 7 : 9), 200);
  });
  console.log("ready");
  setInterval(() => {}, 1000);`;

test("arguments and the exit code pass through", async (t) => {
  const script = "console.log(process.argv.slice(1).join(' ')); process.exit(3)";
  const { child, lines } = start(t, script, "--", "--port", "8123");
  const exit = once(child, "exit");
  assert.equal((await lines.next()).value, "--port 8123");
  assert.deepEqual(await exit, [3, null]);
});

for (const [sent, heard] of [
  ["SIGINT", "SIGINT"],
  ["SIGTERM", "SIGTERM"],
  ["SIGHUP", "SIGTERM"],
]) {
  test(`${sent} reaches the server once, as ${heard}, however often it is sent at once`, async (t) => {
    const { child, lines } = start(t, WAIT_FOR_SIGNALS);
    const exit = once(child, "exit");
    assert.equal((await lines.next()).value, "ready");
    child.kill(sent);
    child.kill(sent);
    assert.equal((await lines.next()).value, heard);
    assert.deepEqual(await exit, [7, null]);
  });
}

test("a server that a signal killed gives the shell's exit code", async (t) => {
  const { child } = start(t, "process.kill(process.pid, 'SIGKILL')");
  assert.deepEqual(await once(child, "exit"), [137, null]);
});

test("a server does not outlive what started it, however that ended", async (t) => {
  const { child, lines } = start(t, WAIT_FOR_SIGNALS);
  assert.equal((await lines.next()).value, "ready");
  child.kill("SIGKILL");
  assert.equal((await lines.next()).value, "SIGTERM");
  // Its output ends with the last process that holds it.
  assert.equal((await lines.next()).done, true);
});

test("a command that there is none of is named", async (t) => {
  const serving = `import { serve } from ${JSON.stringify(MODULE)};
    process.exitCode = await serve("/no/such/command", []);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", serving], {
    stdio: ["ignore", "inherit", "pipe"],
  });
  t.after(() => child.kill("SIGKILL"));
  const said = createInterface({ input: child.stderr })[Symbol.asyncIterator]();
  const exit = once(child, "exit");
  assert.equal((await said.next()).value, "");
  assert.match((await said.next()).value, /cannot run \/no\/such\/command/);
  assert.deepEqual(await exit, [1, null]);
});

test("npm's own signals reach the command: no shell stands between them", async () => {
  const { scripts } = JSON.parse(await readFile(new URL("../../package.json", import.meta.url)));
  for (const name of ["start", "test"]) assert.match(scripts[name], /^exec node /);
});
