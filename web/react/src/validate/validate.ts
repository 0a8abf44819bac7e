import { Validator, type OutputUnit, type Schema } from "@cfworker/json-schema";
import { boundsOf, resolve } from "../core/bounds.js";
import { asRecord } from "../core/json.js";
import type { Interrupt, JsonSchema, Problem } from "../core/index.js";
import { affordable } from "./patterns.js";

/** What checking a value found; `checkable` is false when the schema itself could not be read. */
export interface Verdict {
  readonly checkable: boolean;
  readonly problems: readonly Problem[];
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
 * busy (SE-06), leaves the judgement to the server. An absent value counts as null (RE-05).
 */
export function check(schema: JsonSchema, value: unknown): Verdict {
  try {
    const { trouble, patterns } = boundsOf(schema);
    const length = patterns.length === 0 ? 0 : longest(value);
    if (trouble !== null || !patterns.every((one) => affordable(one, length))) return UNJUDGED;
    const plain = JSON.parse(JSON.stringify(value ?? null)) as unknown;
    const own = JSON.parse(JSON.stringify(schema)) as Schema;
    const { valid, errors } = new Validator(own, "2020-12", false).validate(plain);
    return { checkable: true, problems: valid ? [] : toProblems(errors, schema) };
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

/** Checks an answer before it is kept: against its schema, or as a boolean for a confirmation. */
export function validateAnswer(interrupt: Interrupt, payload: unknown): readonly Problem[] {
  const schema = asRecord(interrupt.responseSchema);
  if (schema !== undefined) return check(schema, payload).problems;
  if (interrupt.reason !== "confirmation" || typeof payload === "boolean") return [];
  return [{ pointer: "", message: "Answer with yes or no." }];
}

function toProblems(errors: readonly OutputUnit[], schema: JsonSchema): readonly Problem[] {
  const leaves = errors.filter((one) => !CONTAINERS.has(one.keyword));
  const shown = leaves.length > 0 ? leaves : errors;
  const problems = new Map<string, Problem>();
  for (const error of shown) {
    const problem = toProblem(error, schema);
    const key = `${problem.pointer} ${problem.message}`;
    problems.set(key, problem);
  }
  return [...problems.values()];
}

function toProblem(error: OutputUnit, schema: JsonSchema): Problem {
  const at = fromFragment(error.instanceLocation);
  const missing = /required property "(.*)"\.$|does not have "(.*)"\.$/.exec(error.error);
  const name = missing?.[1] ?? missing?.[2];
  if (name !== undefined) return { pointer: `${at}/${escape(name)}`, message: "Required." };
  return { pointer: at, message: sentence(error, limitOf(schema, error)) };
}

function sentence({ keyword, error }: OutputUnit, limit: unknown): string {
  const value = typeof limit === "number" || typeof limit === "string" ? String(limit) : null;
  if (keyword === "type") return `Must be ${typeNames(limit)}.`;
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
  return list.map((one) => TYPES[String(one)] ?? String(one)).join(" or ");
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
