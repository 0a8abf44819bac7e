// npm run sbom: what a release ships, what is in it (CycloneDX, from both locks), where it comes from,
// and digests of all.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { at, cache, root } from "./checkout.mjs";
import { read, runOrFail } from "./command.mjs";
import { exitWith, Failure } from "./failure.mjs";
import { findPython } from "./interpreter.mjs";
import { checkNode } from "./node.mjs";
import { commitOf, PROVENANCE, provenance } from "./provenance.mjs";
import { setUp } from "./setup.mjs";
import { writeSums } from "./sums.mjs";
import { createEnvironment, install, uv } from "./uv.mjs";

const FOLDER = join(cache, "release");

await exitWith(async () => {
  checkNode();
  const commit = commitOf();
  const began = new Date();
  await setUp(["tests", "web"]);
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER);

  const isolated = [`--python=${at(".venv", "bin", "python")}`, "--no-build-isolation"];
  await uv([
    "build",
    "--quiet",
    "--wheel",
    "--no-create-gitignore",
    ...isolated,
    `--out-dir=${FOLDER}`,
    root,
  ]);
  const pack = ["pack", "--silent", "--ignore-scripts", "--pack-destination", FOLDER];
  await runOrFail("npm", pack, { cwd: at("web", "react") });

  const environment = join(cache, "sbom");
  await createEnvironment(environment);
  await install(join(environment, "bin", "python"), at("requirements-sbom.lock"));
  const python = ["requirements", "--output-reproducible", `--pyproject=${at("pyproject.toml")}`];
  const ofPython = `--output-file=${join(FOLDER, "python.cdx.json")}`;
  const command = join(environment, "bin", "cyclonedx-py");
  await runOrFail(command, [...python, ofPython, at("requirements.lock")]);
  const web = read("npm", ["sbom", "--sbom-format=cyclonedx", "--package-lock-only"]);
  if (!web) throw new Failure("npm sbom lists nothing: see what it says by itself.");
  writeFileSync(join(FOLDER, "web.cdx.json"), web);

  const tools = { node: process.versions.node, python: findPython().version };
  const builder = process.env.SAYSO_BUILDER ?? "urn:sayso:builder:by-hand";
  const told = provenance(FOLDER, { commit, builder, began, ended: new Date(), tools });
  writeFileSync(join(FOLDER, PROVENANCE), `${JSON.stringify(told, null, 2)}\n`);
  writeSums(FOLDER);
  process.stdout.write(`${FOLDER}\n`);
  return 0;
});
