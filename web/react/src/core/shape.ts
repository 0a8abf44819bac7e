import type { Interrupt } from "@ag-ui/client";
import { asRecord, asText, writeJson } from "./json.js";
import { MAX_CHOICES } from "./limits.js";

/** A JSON Schema as it came over the wire: nothing about it is to be trusted. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** One way to go, from a `oneOf` of `const`, `title` and `description`. */
export interface Choice {
  readonly value: unknown;
  readonly title: string;
  readonly description: string | null;
}

/** A small extra question beside a yes or no. */
export interface Extra {
  readonly name: string;
  readonly title: string;
  readonly description: string | null;
  readonly type: "string" | "boolean";
  readonly required: boolean;
}

/**
 * The kind of answer that an interrupt asks for, read off its `responseSchema`:
 *
 * - `approval`: yes or no, as a bare boolean (`bare`) or as the member `approved`
 * - `choice`: one of several actions, as the member `action`
 * - `form`: anything else that a schema describes
 * - `text`: no schema, so free text
 */
export type Shape =
  | {
      readonly kind: "approval";
      readonly bare: boolean;
      /** The schema of `editedArgs`; null when editing is not offered (TB-11). */
      readonly edit: JsonSchema | null;
      readonly reason: "none" | "optional" | "required";
      readonly extras: readonly Extra[];
    }
  | {
      readonly kind: "choice";
      /** `choiceFields` says what each asks for beside its action. */
      readonly choices: readonly Choice[];
    }
  | { readonly kind: "form"; readonly schema: JsonSchema }
  | { readonly kind: "text" };

/** Reads the kind of answer off an interrupt; works for any reason, also for unknown ones (IN-12). */
export function shapeOf(interrupt: Interrupt): Shape {
  const schema = asRecord(interrupt.responseSchema);
  if (schema === undefined) {
    if (interrupt.reason === "confirmation") return { ...PLAIN, bare: true };
    return interrupt.reason === "tool_call" ? PLAIN : { kind: "text" };
  }
  if (schema.type === "boolean") return { ...PLAIN, bare: true };
  const properties = asRecord(schema.properties) ?? {};
  return approval(schema, properties) ?? choice(properties) ?? { kind: "form", schema };
}

const PLAIN = { kind: "approval", bare: false, edit: null, reason: "none", extras: [] } as const;

function approval(schema: JsonSchema, properties: JsonSchema): Shape | null {
  if (asRecord(properties.approved)?.type !== "boolean") return null;
  const required = requiredOf(schema);
  const edit = asRecord(properties.editedArgs);
  const reason = asRecord(properties.reason)?.type === "string";
  const extras: Extra[] = [];
  for (const [name, value] of Object.entries(properties)) {
    if (name === "approved" || name === "editedArgs" || (name === "reason" && reason)) continue;
    const extra = extraOf(name, value, required.has(name));
    if (extra !== null) extras.push(extra);
    else if (required.has(name)) return null;
  }
  if (required.has("editedArgs")) return null;
  return {
    kind: "approval",
    bare: false,
    edit: edit === undefined ? null : withDefinitions(schema, edit),
    reason: reason ? (required.has("reason") ? "required" : "optional") : "none",
    extras,
  };
}

function extraOf(name: string, value: unknown, required: boolean): Extra | null {
  const schema = asRecord(value);
  const type = typeWithoutNull(schema);
  if (schema === undefined || (type !== "string" && type !== "boolean")) return null;
  if ("enum" in schema || "oneOf" in schema) return null;
  const title = asText(schema.title) ?? name;
  return { name, title, description: asText(schema.description) ?? null, type, required };
}

/** `string` for `string`, `[string, null]` and `anyOf` of both; undefined when it is unclear. */
function typeWithoutNull(schema: JsonSchema | undefined): unknown {
  const named = schema?.type;
  const list = Array.isArray(named)
    ? (named as unknown[])
    : Array.isArray(schema?.anyOf)
      ? schema.anyOf.map((item: unknown) => asRecord(item)?.type)
      : [named];
  const types = list.filter((item) => item !== "null");
  // A yes that an object may say more about is still a yes: the box stands for the plain one.
  if (types.length === 2 && types.includes("boolean") && types.includes("object")) return "boolean";
  return types.length === 1 ? types[0] : undefined;
}

function choice(properties: JsonSchema): Shape | null {
  const options = asRecord(properties.action)?.oneOf;
  if (!Array.isArray(options) || options.length === 0 || options.length > MAX_CHOICES) return null;
  const choices: Choice[] = [];
  for (const item of options as unknown[]) {
    const option = asRecord(item);
    if (option === undefined || !("const" in option)) return null;
    const value = option.const;
    const title = asText(option.title) ?? asText(value) ?? writeJson(value);
    choices.push({ value, title, description: asText(option.description) ?? null });
  }
  return { kind: "choice", choices };
}

export function requiredOf(schema: JsonSchema): ReadonlySet<string> {
  const { required } = schema;
  return new Set(
    Array.isArray(required) ? required.filter((item) => typeof item === "string") : [],
  );
}

/** References in a part of a schema point into the whole, so its definitions go along. */
export function withDefinitions(whole: JsonSchema, part: JsonSchema): JsonSchema {
  const named = ["$defs", "definitions"].flatMap((key) =>
    key in whole && !(key in part) ? [[key, whole[key]] as const] : [],
  );
  return named.length === 0 ? part : { ...part, ...Object.fromEntries(named) };
}
