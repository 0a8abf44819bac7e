// npm run pin: resolves what pyproject.toml asks for into the locks, newest first, with hashes.
import { at, root } from "./checkout.mjs";
import { exitWith } from "./failure.mjs";
import { FRAMEWORKS, lockOf } from "./frameworks.mjs";
import { setUpUv, uv } from "./uv.mjs";

// Those that go together; each framework has an environment of its own.
const EXTRAS = ["client", "encryption", "jwt", "otel", "postgres", "redis", "signatures"].map(
  (name) => `--extra=${name}`,
);
// No header, no annotations and no index: a lock names packages, never where they come from.
const OPTIONS = [
  "pip",
  "compile",
  "--upgrade",
  "--generate-hashes",
  "--universal",
  "--python-version=3.11",
  "--no-header",
  "--no-annotate",
  "--no-emit-index-url",
  "--no-emit-find-links",
  "--quiet",
];

await exitWith(async () => {
  await setUpUv();
  const compile = (lock, ...args) =>
    uv([...OPTIONS, `--output-file=${at(lock)}`, ...args], { cwd: root });

  // The runtime and the build take the versions that everything together settled on.
  const all = ["--constraints", at("requirements-dev.lock")];
  await compile(
    "requirements-dev.lock",
    "pyproject.toml",
    ...EXTRAS,
    "--group=dev",
    "--group=build",
  );
  await compile("requirements.lock", "pyproject.toml", ...EXTRAS, ...all);
  await compile("requirements-build.lock", "--group=build", ...all);
  await compile("requirements-uv.lock", "--group=uv");
  await compile("requirements-sbom.lock", "--group=sbom");
  await compile("requirements-agent-framework-client.lock", "--group=agent-framework-client");
  for (const framework of FRAMEWORKS) {
    await compile(
      lockOf(framework),
      "pyproject.toml",
      "--extra=client",
      "--extra=postgres",
      "--extra=redis",
      "--group=frameworks",
      `--group=${framework.group}`,
      "--group=build",
    );
  }
  return 0;
});
