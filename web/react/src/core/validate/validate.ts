import { Validator, type OutputUnit, type Schema } from "@cfworker/json-schema";
import { boundsOf, resolve } from "../bounds.js";
import { asRecord } from "../json.js";
import { isSecret } from "../secrets.js";
import type { JsonSchema } from "../shape.js";
import type { Interrupt, Problem } from "../types.js";
import { isSafePattern } from "./patterns.js";
import { ranked } from "./ranks.js";
import { chosen, isAmbiguous } from "./unions.js";

/** The result of a check; `checkable` is false when the schema itself could not be read. */
export interface Verdict {
  readonly checkable: boolean;
  readonly problems: readonly Problem[];
}

const TYPES: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  integer: "a whole number",
  boolean: "yes or no",
  object: "an object",
  array: "a list",
  null: "null",
};

/**
 * Checks a value against a JSON Schema (2020-12) by interpreting it: nothing is compiled, so it works
 * under a policy without `unsafe-eval`. A schema that cannot be read, or that would keep the page
 * busy (SE-06), leaves the judgement to the server; so does a secret that the server keeps apart, of
 * which only the id is here. An absent value counts as null (RE-05).
 */
export function check(schema: JsonSchema, value: unknown): Verdict {
  try {
    const { trouble, patterns } = boundsOf(schema);
    const length = patterns.length === 0 ? 0 : longest(value);
    if (trouble !== null || !patterns.every((pattern) => isSafePattern(pattern, length)))
      return UNJUDGED;
    const [plain, own] = ranked([value ?? null, schema]);
    const { errors } = new Validator(own as Schema, "2020-12", false).validate(plain);
    if (errors.some((error) => isMultiple(error, value, schema))) return UNJUDGED;
    const problems = toProblems(errors, schema);
    return { checkable: true, problems: problems.filter((problem) => !isInSecret(value, problem)) };
  } catch {
    return UNJUDGED;
  }
}

const UNJUDGED: Verdict = { checkable: false, problems: [] };

/** The longest text in a JSON value, names of members included. */
function longest(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (Array.isArray(value)) return Math.max(0, ...value.map(longest));
  return Math.max(
    0,
    ...Object.entries(asRecord(value) ?? {}).map(([key, item]) =>
      Math.max(key.length, longest(item)),
    ),
  );
}

/** True if a complaint that a long number is no multiple is wrong: what was divided stood for it. */
function isMultiple(error: OutputUnit, value: unknown, schema: JsonSchema): boolean {
  if (error.keyword !== "multipleOf") return false;
  const [dividend, divisor] = [at(value, error.instanceLocation), limitOf(schema, error)];
  if (typeof dividend !== "bigint" && typeof divisor !== "bigint") return false;
  // Parts of one are nothing that a browser can divide so long a number by: the server does.
  if (!isWhole(dividend) || !isWhole(divisor)) return true;
  return BigInt(dividend) % BigInt(divisor) === 0n;
}

function isWhole(value: unknown): value is bigint | number {
  return typeof value === "bigint" || Number.isInteger(value);
}

/** The part of a value at a location. */
function at(value: unknown, location: string): unknown {
  return placesTo(value, fromFragment(location)).at(-1);
}

/** True if a problem is at a secret that the server keeps apart, or below one. */
function isInSecret(value: unknown, { pointer }: Problem): boolean {
  return placesTo(value, pointer).some(isSecret);
}

/** A value and the parts of it on the way to a JSON Pointer. */
function placesTo(value: unknown, pointer: string): readonly unknown[] {
  const places = [value];
  for (const key of pointer.split("/").slice(1).map(unescape)) {
    places.push((places.at(-1) as Readonly<Record<string, unknown>> | null | undefined)?.[key]);
  }
  return places;
}

/** Checks an answer before it is kept: against its schema, or as a boolean for a confirmation. */
export function validateAnswer(interrupt: Interrupt, payload: unknown): readonly Problem[] {
  const schema = asRecord(interrupt.responseSchema);
  if (schema !== undefined) return check(schema, payload).problems;
  if (interrupt.reason !== "confirmation" || typeof payload === "boolean") return [];
  return [{ pointer: "", message: "Answer with yes or no." }];
}

function toProblems(errors: readonly OutputUnit[], schema: JsonSchema): readonly Problem[] {
  const leaves = chosen(errors);
  const shown = leaves.length > 0 ? leaves : errors;
  const types = new Map<string, unknown[]>();
  for (const error of shown) {
    if (error.keyword !== "type") continue;
    const list = types.get(error.instanceLocation) ?? [];
    types.set(error.instanceLocation, list.concat(limitOf(schema, error)));
  }
  const limits = (error: OutputUnit) =>
    error.keyword === "type" ? types.get(error.instanceLocation) : limitOf(schema, error);
  const problems = new Map<string, Problem>();
  for (const error of shown) {
    const problem = toProblem(error, limits(error));
    const key = `${problem.pointer} ${problem.message}`;
    problems.set(key, problem);
  }
  return [...problems.values()];
}

function toProblem(error: OutputUnit, limit: unknown): Problem {
  const pointer = fromFragment(error.instanceLocation);
  const missing = /required property "(.*)"\.$|does not have "(.*)"\.$/.exec(error.error);
  const name = missing?.[1] ?? missing?.[2];
  if (name !== undefined) return { pointer: `${pointer}/${escape(name)}`, message: "Required." };
  return { pointer: pointer, message: sentence(error, limit) };
}

function sentence(unit: OutputUnit, limit: unknown): string {
  const { keyword, error } = unit;
  const include = ["number", "bigint", "string"].includes(typeof limit);
  const value = include ? String(limit) : null;
  if (keyword === "type") return `Must be ${typeNames(limit)}.`;
  if (isAmbiguous(unit)) return "Fits more than one of the allowed forms.";
  if (keyword === "const" || keyword === "enum") return "Not one of the allowed values.";
  if (keyword === "oneOf" || keyword === "anyOf") return "Fits none of the allowed forms.";
  if (keyword === "false") return "Not allowed here.";
  if (value === null) return error;
  switch (keyword) {
    case "minimum":
      return `Must be at least ${value}.`;
    case "maximum":
      return `Must be at most ${value}.`;
    case "exclusiveMinimum":
      return `Must be more than ${value}.`;
    case "exclusiveMaximum":
      return `Must be less than ${value}.`;
    case "multipleOf":
      return `Must be a multiple of ${value}.`;
    case "minLength":
      return `Must have at least ${value} characters.`;
    case "maxLength":
      return `Must have at most ${value} characters.`;
    case "minItems":
      return `Needs at least ${value} entries.`;
    case "maxItems":
      return `Takes at most ${value} entries.`;
    case "pattern":
      return `Must match ${value}.`;
    case "format":
      return `Must be a valid ${value}.`;
    default:
      return error;
  }
}

function typeNames(types: unknown): string {
  const list = (Array.isArray(types) ? types : [types]) as unknown[];
  const names = list.map((item) => TYPES[String(item)] ?? String(item));
  return [...new Set(names)].join(" or ");
}

/** The keyword's value in the schema, found by its location; undefined behind a reference. */
function limitOf(schema: JsonSchema, error: OutputUnit): unknown {
  const path = fromFragment(error.keywordLocation).split("/").slice(1).map(unescape);
  let place: unknown = schema;
  for (const key of path) {
    if (typeof place !== "object" || place === null) return undefined;
    const { $ref } = place as Record<string, unknown>;
    if (key === "$ref") place = typeof $ref === "string" ? resolve(schema, $ref) : undefined;
    else place = (place as Record<string, unknown>)[key];
  }
  return place;
}

function fromFragment(location: string): string {
  return decodeURIComponent(location.replace(/^#/, ""));
}

function escape(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

function unescape(key: string): string {
  return key.replaceAll("~1", "/").replaceAll("~0", "~");
}
