// npm test stands between whoever ends it and what it runs: nothing is left behind.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import test from "node:test";

import { collect, run } from "../../scripts/command.mjs";

const url = (name) => JSON.stringify(new URL(`../../scripts/${name}`, import.meta.url).href);

// What a suite does upon Ctrl-C: it puts away what it has started, and then ends.
const SUITE = `
  process.on("SIGINT", () => { console.log("putting away"); setTimeout(() => process.exit(2), 100); });
  console.log("ready");
  setInterval(() => {}, 1000);`;

for (const sent of ["SIGTERM", "SIGHUP", "SIGINT"]) {
  test(`${sent} ends what is run as Ctrl-C would, and nothing more is begun`, async (t) => {
    const running = `import { run } from ${url("command.mjs")};
      import { exitWith } from ${url("failure.mjs")};
      await exitWith(async () => {
        await run(process.execPath, ["-e", ${JSON.stringify(SUITE)}]);
        console.log("went on");
      });`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", running], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    t.after(() => child.kill("SIGKILL"));
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const exit = once(child, "exit");
    assert.equal((await lines.next()).value, "ready");
    child.kill(sent);
    assert.equal((await lines.next()).value, "putting away");
    assert.equal((await lines.next()).done, true);
    assert.deepEqual(await exit, [130, null]);
  });
}

test("what takes longer than it may is ended, and says so", async () => {
  const said = [];
  const hanging = collect(said, () => run(process.execPath, ["-e", SUITE], { minutes: 0.02 }));
  await assert.rejects(hanging, /was not over after 0\.02 minutes, and was ended/);
});

test("what commands beside each other say is kept apart", async () => {
  const words = ["one", "two"];
  const lists = await Promise.all(
    words.map(async (word) => {
      const said = [];
      await collect(said, () => run(process.execPath, ["-e", `console.log("${word}")`]));
      return said.join("");
    }),
  );
  assert.deepEqual(lists, ["one\n", "two\n"]);
});
