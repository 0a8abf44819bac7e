// What is missing is named, with what to do about it: design 10.
import assert from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

import { setUpBrowser } from "../../scripts/browser.mjs";
import { setUpNginx } from "../../scripts/nginx.mjs";
import { findPython } from "../../scripts/interpreter.mjs";
import { checkNode } from "../../scripts/node.mjs";
import { folder } from "./folder.mjs";

function withVariable(t, name, value) {
  const before = process.env[name];
  process.env[name] = value;
  t.after(() => {
    if (before === undefined) delete process.env[name];
    else process.env[name] = before;
  });
}

function interpreter(t, script) {
  const path = join(folder(t), "python");
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

test("a Python that is too old is named with its version", (t) => {
  withVariable(t, "PYTHON", interpreter(t, "echo 3.9.2"));
  assert.throws(findPython, /Python 3\.11 or newer .* is Python 3\.9\.2/);
});

test("a Python without venv is told apart from an old one", (t) => {
  const script = 'case "$2" in *ensurepip*) exit 1;; *) echo 3.12.1;; esac';
  withVariable(t, "PYTHON", interpreter(t, script));
  assert.throws(findPython, /3\.12\.1 without the venv module[^]*python3-venv/);
});

test("a Python that is not there is said to be missing, not replaced by another", (t) => {
  withVariable(t, "PYTHON", "/nowhere/python3");
  assert.throws(findPython, /\/nowhere\/python3 not found/);
});

test("the interpreter that PYTHON names is the one that is used", (t) => {
  withVariable(t, "PYTHON", interpreter(t, "echo 3.13.0 /some where/python3.13"));
  assert.equal(findPython().executable, "/some where/python3.13");
});

test("an old Node is named with its version", () => {
  assert.throws(() => checkNode("18.20.0"), /Node 20 or newer .* 18\.20\.0/);
  checkNode("20.0.0");
});

test("a browser that is named but not there is an error, and none is installed instead", async (t) => {
  withVariable(t, "SAYSO_BROWSER", "/nowhere/chromium");
  await assert.rejects(setUpBrowser(), /SAYSO_BROWSER names \/nowhere\/chromium/);
});

test("an nginx that is named but not there is an error, and none is unpacked instead", async (t) => {
  withVariable(t, "SAYSO_NGINX", "/nowhere/nginx");
  await assert.rejects(setUpNginx(), /SAYSO_NGINX names \/nowhere\/nginx/);
});
