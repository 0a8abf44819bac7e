/** Equality of JSON values: key order does not matter, an undefined member counts as absent. */
export function equalJson(left: unknown, right: unknown): boolean {
  if (Object.is(left, right)) return true;
  if (typeof left !== "object" || typeof right !== "object") return false;
  if (left === null || right === null || Array.isArray(left) !== Array.isArray(right)) return false;
  const entries = (value: object) => Object.entries(value).filter(([, item]) => item !== undefined);
  const [a, b] = [entries(left), new Map<string, unknown>(entries(right))];
  return a.length === b.size && a.every(([key, item]) => b.has(key) && equalJson(item, b.get(key)));
}

/** These objects' members as one map by id, in which no id finds what every object has. */
export function mapOf<T>(...parts: readonly Readonly<Record<string, T>>[]): Record<string, T> {
  return Object.assign(Object.create(null) as Record<string, T>, ...parts) as Record<string, T>;
}

/** A value as an object with unknown members, or undefined when it is anything else. */
export function asRecord(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

/** A non-empty text, or undefined. */
export function asText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The non-empty texts of a list; none for anything else. */
export function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? (value as unknown[]).flatMap((item) => asText(item) ?? []) : [];
}

/** Stands before the digits of a `bigint` inside JSON text; no text from outside has it. */
const MARK = `int:${Math.random().toString(36).slice(2)}:`;
const MARKED = new RegExp(`"${MARK.replace(".", "\\.")}(-?\\d+)"`, "g");
const TOKEN = /"(?:[^"\\]+|\\.)*"|-?\d[\d.eE+-]*/g;

/**
 * Parsed JSON, or undefined when the text is not JSON. A whole number that a double does not hold is
 * a `bigint`, so that all its digits are kept; any other number is a number.
 */
export function parseJson(text: string): unknown {
  try {
    const value = JSON.parse(text) as unknown;
    if (!/\d{16}/.test(text)) return value;
    const marked = text.replace(TOKEN, (token) => (isLong(token) ? `"${MARK}${token}"` : token));
    return JSON.parse(marked, (_, item: unknown) =>
      typeof item === "string" && item.startsWith(MARK) ? BigInt(item.slice(MARK.length)) : item,
    ) as unknown;
  } catch {
    return undefined;
  }
}

/** JSON text of a value: a `bigint` is written with all its digits, as a number. */
export function writeJson(value: unknown, space?: number): string {
  const spell = (_: string, item: unknown) => (typeof item === "bigint" ? `${MARK}${item}` : item);
  return JSON.stringify(value, spell, space).replace(MARKED, "$1");
}

function isLong(token: string): boolean {
  return /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token));
}
