/** Equality of JSON values: key order does not matter, an undefined member counts as absent. */
export function equalJson(left: unknown, right: unknown): boolean {
  if (Object.is(left, right)) return true;
  if (typeof left !== "object" || typeof right !== "object") return false;
  if (left === null || right === null || Array.isArray(left) !== Array.isArray(right)) return false;
  const entries = (value: object) => Object.entries(value).filter(([, item]) => item !== undefined);
  const [a, b] = [entries(left), new Map<string, unknown>(entries(right))];
  return a.length === b.size && a.every(([key, item]) => b.has(key) && equalJson(item, b.get(key)));
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

/** Parsed JSON, or undefined when the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
