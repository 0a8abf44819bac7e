import type { OutputUnit } from "@cfworker/json-schema";

/**
 * The complaints that say something by themselves; of unions only those of the alternative that the
 * value was meant for, by its type and its constants: the rest would speak of what nobody chose.
 * Where none stands out, it is the union that does not fit, and what each of the best would need.
 */
export function chosen(errors: readonly OutputUnit[]): readonly OutputUnit[] {
  const kept: OutputUnit[] = [];
  let seen = 0;
  for (const [at, error] of errors.entries()) {
    if (at < seen) continue;
    if (!UNIONS.has(error.keyword)) {
      if (!CONTAINERS.has(error.keyword)) kept.push(error);
      continue;
    }
    const inside = within(error, errors.slice(at + 1));
    seen = at + 1 + inside.length;
    if (isAmbiguous(error)) kept.push(error);
    else kept.push(...best(error, inside));
  }
  return kept;
}

/** Keywords that only say that something inside them failed, which is listed as well. */
const CONTAINERS: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "additionalProperties",
  "unevaluatedProperties",
  "items",
  "prefixItems",
  "additionalItems",
  "unevaluatedItems",
  "allOf",
  "$ref",
  "if",
  "dependentSchemas",
]);

const UNIONS: ReadonlySet<string> = new Set(["anyOf", "oneOf"]);

/** True if a union complains that more than one alternative fits, not that none does. */
export function isAmbiguous({ keyword, error }: OutputUnit): boolean {
  return keyword === "oneOf" && !error.endsWith("(0 matches).");
}

/** The complaints of a union's alternatives, which follow its own. A `false` knows no place. */
function within(union: OutputUnit, rest: readonly OutputUnit[]): readonly OutputUnit[] {
  const end = rest.findIndex(
    (outputUnit) => outputUnit.keyword !== "false" && branchOf(union, outputUnit) === undefined,
  );
  return end === -1 ? rest : rest.slice(0, end);
}

function branchOf(union: OutputUnit, { keywordLocation }: OutputUnit): string | undefined {
  const start = `${union.keywordLocation}/`;
  if (!keywordLocation.startsWith(start)) return undefined;
  return keywordLocation.slice(start.length).split("/", 1)[0];
}

function best(union: OutputUnit, inside: readonly OutputUnit[]): readonly OutputUnit[] {
  const branches = new Map<string, OutputUnit[]>();
  let branch: string | undefined;
  for (const outputUnit of inside) {
    if (outputUnit.keyword !== "false") branch = branchOf(union, outputUnit);
    if (branch === undefined) continue;
    branches.set(branch, [...(branches.get(branch) ?? []), outputUnit]);
  }
  const all = [...branches.values()].map(chosen);
  const ranks = all.map((own) => misfit(union, own));
  const least = ranks.reduce<readonly number[]>((a, b) => (compare(b, a) < 0 ? b : a), [Infinity]);
  const meant = all.filter((_, index) => compare(ranks[index] ?? [], least) === 0);
  const left = meant.flat();
  const plain = meant.length === 1 || left.every((unit) => isKind(union, unit));
  return plain && left.length > 0 ? left : [union, ...left];
}

/** True if a complaint says of the value itself what it would have to be, as one for all. */
function isKind({ instanceLocation: here }: OutputUnit, unit: OutputUnit): boolean {
  return unit.instanceLocation === here && ["type", "const", "enum"].includes(unit.keyword);
}

/**
 * How badly an alternative fits: by its type; by constants of the value or its members, which tell
 * alternatives apart, and lists of them; by types of members; by what else is wrong. What is missing
 * does not count: of what nobody filled in yet, no alternative is meant more than another.
 */
function misfit({ instanceLocation: here }: OutputUnit, own: readonly OutputUnit[]): number[] {
  const depth = here.split("/").length;
  const near = own.filter(
    (outputUnit) => outputUnit.instanceLocation.split("/").length <= depth + 1,
  );
  const count = (some: readonly OutputUnit[], keyword: string) =>
    some.filter((outputUnit) => outputUnit.keyword === keyword).length;
  return [
    count(
      own.filter((outputUnit) => outputUnit.instanceLocation === here),
      "type",
    ),
    count(near, "const"),
    count(near, "enum"),
    count(near, "type"),
    own.length - count(own, "required"),
  ];
}

function compare(a: readonly number[], b: readonly number[]): number {
  const index = a.findIndex((item, place) => item !== b[place]);
  return index === -1 ? 0 : (a[index] ?? 0) - (b[index] ?? 0);
}
