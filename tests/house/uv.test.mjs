// Packages come from where this machine's pip finds them: CONTRIBUTING.
import assert from "node:assert/strict";
import test from "node:test";

import { settings } from "../../scripts/uv.mjs";

test("uv is told of the index and the certificates that pip is set up with", (t) => {
  const before = process.env.SSL_CERT_FILE;
  delete process.env.SSL_CERT_FILE;
  t.after(() => before && (process.env.SSL_CERT_FILE = before));
  const listed = "global.cert='/etc/own.pem'\n:env:.index-url='https://mirror.test/simple'";
  assert.deepEqual(settings(listed), {
    UV_DEFAULT_INDEX: "https://mirror.test/simple",
    SSL_CERT_FILE: "/etc/own.pem",
  });
});

test("what uv is told by its own variables stays", (t) => {
  const before = process.env.SSL_CERT_FILE;
  process.env.SSL_CERT_FILE = "/etc/given.pem";
  t.after(() => {
    if (before === undefined) delete process.env.SSL_CERT_FILE;
    else process.env.SSL_CERT_FILE = before;
  });
  assert.deepEqual(settings("global.cert='/etc/own.pem'"), {});
});
