// Programs of the system that suites need: found, or brought in where that needs no one's leave.
import { accessSync, constants, existsSync } from "node:fs";
import { delimiter, join } from "node:path";

import { cache } from "./checkout.mjs";
import { withLock } from "./setup-lock.mjs";

export const isDebian = () => existsSync("/etc/debian_version") && existsSync("/usr/bin/apt-get");

export const isRoot = () => process.getuid?.() === 0;

// apt-get refuses to run beside itself.
export const withApt = (work) => withLock(join(cache, "apt.lock"), work);

export function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

// The first of these names that is a program on the path, or in one of these folders besides.
export function findProgram(names, besides = []) {
  const folders = (process.env.PATH ?? "").split(delimiter).filter(Boolean);
  const every = names.flatMap((name) =>
    [...folders, ...besides].map((folder) => join(folder, name)),
  );
  return every.find(isExecutable) ?? null;
}
