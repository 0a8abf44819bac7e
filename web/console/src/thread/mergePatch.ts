import type { Problem } from "@sayso/react";
import { equalJson } from "@sayso/react/core";
import { isRecord } from "../rest.js";

/** A merge patch (RFC 7396): members to set, and null for those to take away. */
export type Patch = Readonly<Record<string, unknown>>;

/** The patch from `before` to `after`; nothing but that, so that what others change stays. */
export function patchOf(before: unknown, after: Patch): Patch {
  const old = isRecord(before) ? before : {};
  const patch = new Map<string, unknown>();
  for (const name of Object.keys(old)) {
    if (!Object.hasOwn(after, name)) patch.set(name, null);
  }
  for (const [name, value] of Object.entries(after)) {
    const was = Object.hasOwn(old, name) ? old[name] : undefined;
    if (was !== undefined && equalJson(was, value)) continue;
    patch.set(
      name,
      isRecord(value) && (isRecord(was) || was === undefined) ? patchOf(was, value) : value,
    );
  }
  return Object.fromEntries(patch);
}

/** Members that would become null, which a merge patch cannot say: there it means "away". */
export function nullsIn(before: unknown, after: unknown, position = ""): readonly Problem[] {
  if (!isRecord(after)) return [];
  const old = isRecord(before) ? before : {};
  return Object.entries(after).flatMap(([name, value]) => {
    const was = Object.hasOwn(old, name) ? old[name] : undefined;
    if (equalJson(was, value)) return [];
    const pointer = `${position}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    if (value !== null) return nullsIn(was, value, pointer);
    const message = "cannot be set to null by hand: leave the member out to take it away";
    return [{ pointer, message }];
  });
}
