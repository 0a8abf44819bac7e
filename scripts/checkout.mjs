// The checkout and the places in it that setup writes to.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

export const at = (...parts) => join(root, ...parts);

export const venv = at(".venv");
export const venvBin = (name) => join(venv, "bin", name);
export const nodeModules = at("node_modules");
export const cache = at(".cache");

// The folders of the web workspaces, in the order they build in.
export const workspaces = () => JSON.parse(readFileSync(at("package.json"), "utf8")).workspaces;
