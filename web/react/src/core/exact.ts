import { asRecord } from "./json.js";
import type { Answer } from "./types.js";

/** The digits of whole numbers that a double does not hold, by JSON Pointers to where they are. */
type Exact = Readonly<Record<string, string>>;

/**
 * A value with its long whole numbers as `bigint`, where it came through a reader that rounds and
 * its sender says the digits beside it. Digits that the number there is no rounding of do not count.
 */
export function withDigits<T>(value: T, exact: unknown): T {
  const digits = asRecord(exact);
  if (digits === undefined) return value;
  return mapLeaves(value, (item, pointer) => {
    const text = Object.hasOwn(digits, pointer) ? digits[pointer] : undefined;
    const says = typeof text === "string" && /^-?\d{16,20}$/.test(text) && Number(text) === item;
    return says ? BigInt(text) : item;
  }) as T;
}

/**
 * An answer as it leaves: beside it stand the digits of its long whole numbers, and the digest of
 * the question as it was shown.
 */
export interface Spelt {
  readonly metadata?: { readonly sayso: { readonly exact?: Exact; readonly shown?: string } };
}

/** An answer for a writer of JSON that keeps all digits: they are meant, and none is a rounding. */
export function spelt(answer: Answer & Spelt): Answer & Spelt {
  if (answer.status !== "resolved") return answer;
  const exact = digitsIn(answer.payload);
  if (Object.keys(exact).length === 0) return answer;
  return { ...answer, metadata: { sayso: { ...answer.metadata?.sayso, exact } } };
}

/** An answer for a writer of JSON that knows doubles alone. */
export function asDoubles(answer: Answer & Spelt): Answer & Spelt {
  const said = spelt(answer);
  if (said.status !== "resolved" || said.metadata?.sayso.exact === undefined) return said;
  return { ...said, payload: rounded(said.payload) };
}

/** A value as a reader that knows doubles alone has it. */
export function rounded(value: unknown): unknown {
  return mapLeaves(value, (item) => (typeof item === "bigint" ? Number(item) : item));
}

/** The digits of each `bigint` in a value. */
function digitsIn(value: unknown): Exact {
  const digits: Record<string, string> = {};
  mapLeaves(value, (item, pointer) => {
    if (typeof item === "bigint") digits[pointer] = String(item);
    return item;
  });
  return digits;
}

/** The value with each leaf replaced, which is told with its pointer. */
export function mapLeaves(
  value: unknown,
  leaf: (item: unknown, pointer: string) => unknown,
  pointer = "",
): unknown {
  if (typeof value !== "object" || value === null) return leaf(value, pointer);
  if (Array.isArray(value)) {
    return value.map((item, index) => mapLeaves(item, leaf, `${pointer}/${index}`));
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => {
      const key = name.replaceAll("~", "~0").replaceAll("/", "~1");
      return [name, mapLeaves(one, leaf, `${pointer}/${key}`)];
    }),
  );
}
