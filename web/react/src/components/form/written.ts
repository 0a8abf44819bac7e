import { mapLeaves } from "../../core/exact.js";
import { writeJson } from "../../core/json.js";
import { readNumber, troubleIn, troubleOf } from "../../core/numbers.js";
import type { Problem } from "../../core/index.js";

/**
 * The form library knows numbers as doubles, and hashes what is filled in as JSON. Inside it a long
 * whole number, and what is written but cannot be read, are texts of their own kinds, told from all
 * others by a first character that is none.
 */
const FIRST = "\uFDD0";
const [LONG, TEXT] = [`${FIRST}n`, `${FIRST}s`];

/** Complaints about what is written, by kind: a number, a text in quotes, any JSON. */
const UNREAD: Readonly<Record<string, (text: string) => string | null>> = {
  [`${FIRST}t`]: (text: string) => troubleOf(text.trim()),
  [`${FIRST}q`]: () => "Must be one text in quotes, as JSON has it.",
  [`${FIRST}a`]: troubleIn,
};

/** The form library's form of a value, or of a schema with values in it. */
export function inward(value: unknown): unknown {
  return mapLeaves(value, (item) => {
    if (typeof item === "bigint") return `${LONG}${item}`;
    return typeof item === "string" && item.startsWith(FIRST) ? TEXT + item : item;
  });
}

/** The value that it stands for; for what cannot be read, the text that is written. */
export function outward(held: unknown): unknown {
  return mapLeaves(held, (item) => {
    if (typeof item !== "string" || !item.startsWith(FIRST)) return item;
    const text = item.slice(LONG.length);
    return item.startsWith(LONG) ? BigInt(text) : text;
  });
}

/** The library's form of what is written in a number's field. */
export function takeNumber(text: string): unknown {
  const token = text.trim();
  return troubleOf(token) === null ? inward(readNumber(token)) : `${FIRST}t${text}`;
}

/** The library's form of a text that is written in JSON's quotes. */
export function takeQuoted(text: string, read: unknown): unknown {
  return typeof read === "string" ? inward(read) : `${FIRST}q${text}`;
}

/** The library's form of JSON, or of plain text where it is none. */
export function takeAny(text: string, read: unknown): unknown {
  if (read === undefined) return inward(text);
  return troubleIn(text) === null ? inward(read) : `${FIRST}a${text}`;
}

/** The text of what the library holds, where that is a number or could not be read. */
export function written(held: unknown): string {
  if (held === undefined || held === null) return "";
  const text = typeof held === "string" ? held : writeJson(held);
  return text.startsWith(FIRST) ? text.slice(LONG.length) : text;
}

/** True if it is something that could not be read. */
export function isUnread(held: unknown): held is string {
  return typeof held === "string" && held.slice(0, LONG.length) in UNREAD;
}

/** Everything in it that could not be read, and why. */
export function unread(held: unknown): readonly Problem[] {
  const list: Problem[] = [];
  mapLeaves(held, (item, pointer) => {
    if (!isUnread(item)) return item;
    const [kind, text] = [item.slice(0, LONG.length), item.slice(LONG.length)];
    list.push({ pointer, message: UNREAD[kind]?.(text) ?? "Must be a number." });
    return item;
  });
  return list;
}
