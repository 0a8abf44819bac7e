import { asRecord } from "../json.js";

const EXACT = 2 ** 53;

/**
 * How values are told to a validator that knows doubles alone: long whole numbers by other doubles,
 * which stand in the same order to each other and to all the rest. Whatever compares, bounds and
 * enumerates finds the same; what divides does not.
 */
export function ranked(values: readonly unknown[]): readonly unknown[] {
  const long = new Set<bigint | number>();
  for (const value of values) gather(value, long);
  if (![...long].some((item) => typeof item === "bigint"))
    return values.map((value) => told(value, NONE));
  // Mixed comparisons of both kinds are exact. A double that a bigint equals is the same number.
  const sorted = [...long].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const below = sorted.filter((item) => item < 0).length;
  const ranks = new Map<bigint | number, number>();
  let [rank, before] = [0, undefined as bigint | number | undefined];
  for (const [index, one] of sorted.entries()) {
    // eslint-disable-next-line eqeqeq -- 1n equals 1 as a number, which only `==` says
    if (before === undefined || one != before)
      rank = index < below ? index - below : index - below + 1;
    ranks.set(one, rank * EXACT);
    before = one;
  }
  return values.map((value) => told(value, ranks));
}

const NONE: ReadonlyMap<bigint | number, number> = new Map();

function isLong(value: unknown): value is bigint | number {
  return typeof value === "bigint" || (typeof value === "number" && Math.abs(value) >= EXACT);
}

function gather(value: unknown, into: Set<bigint | number>): void {
  if (isLong(value)) into.add(value);
  else if (Array.isArray(value)) for (const item of value) gather(item, into);
  else for (const entry of Object.values(asRecord(value) ?? {})) gather(entry, into);
}

/** A copy as JSON would make it: without absent members. */
function told(value: unknown, ranks: ReadonlyMap<bigint | number, number>): unknown {
  if (isLong(value)) return ranks.get(value) ?? value;
  if (Array.isArray(value)) return value.map((item) => told(item ?? null, ranks));
  const record = asRecord(value);
  if (record === undefined) return value;
  const members = Object.entries(record).filter(([, one]) => one !== undefined);
  return Object.fromEntries(members.map(([name, one]) => [name, told(one, ranks)]));
}
