import { asRecord } from "../../core/json.js";
import type { JsonSchema } from "../../core/index.js";

/**
 * A schema as the form library draws it best. "This or null" becomes "this", since an empty field
 * says the same; a choice of constants gets their type; what refers to a shared definition is called
 * by its own name; what may be anything, or an object of any members, loses its type, so that it is
 * written as JSON; a single field without a name has one. What is filled in is still checked against
 * the schema as it came.
 */
export function forForm(schema: JsonSchema): JsonSchema {
  const drawn = walk(schema) as JsonSchema;
  const { title, type, properties, $ref } = drawn;
  const single = type !== "object" && asRecord(properties) === undefined && $ref === undefined;
  return title === undefined && single ? { ...drawn, title: "Your answer" } : drawn;
}

type Members = Readonly<Record<string, unknown>>;

/** Members that hold values, not schemas. */
const DATA: ReadonlySet<string> = new Set(["const", "default", "enum", "examples", "required"]);

/** Members that hold schemas by name. */
const MAPS: ReadonlySet<string> = new Set([
  "$defs",
  "definitions",
  "dependentSchemas",
  "patternProperties",
]);

function walk(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(walk);
  const schema = asRecord(value);
  if (schema === undefined) return value;
  const walked = Object.fromEntries(
    Object.entries(schema).map(([key, item]) => [key, walkMember(key, item)]),
  );
  return withoutFreeType(withType(withoutNull(walked)));
}

function walkMember(key: string, item: unknown): unknown {
  if (DATA.has(key)) return item;
  const members = asRecord(item);
  if (members === undefined) return walk(item);
  if (key === "properties") return named(members);
  if (!MAPS.has(key)) return walk(item);
  return Object.fromEntries(Object.entries(members).map(([name, one]) => [name, walk(one)]));
}

/** Two addresses of one definition would both be called "Address": each goes by its own name. */
function named(properties: Members): Members {
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => {
      const drawn = asRecord(walk(property));
      if (drawn === undefined) return [name, property];
      return [name, { ...fixed(drawn), ...own(name, drawn) }];
    }),
  );
}

function own(name: string, { title, $ref }: Members): Members {
  return title === undefined && $ref !== undefined ? { title: titleOf(name) } : {};
}

/** A member that can have one value only has it, and is there to be read. */
function fixed(schema: Members): Members {
  if (!("const" in schema) || "default" in schema) return schema;
  return { ...schema, default: schema.const, readOnly: true };
}

/** `billing_address` as a title: "Billing Address", as pydantic makes them for plain fields. */
function titleOf(name: string): string {
  const words = name.split(/[_\s]+/).filter((word) => word !== "");
  const capital = words.map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`);
  return capital.length === 0 ? name : capital.join(" ");
}

function withoutNull(schema: Members): Members {
  const { anyOf, type, ...others } = schema;
  const rest: Record<string, unknown> = { ...others };
  const nullDefault = rest.default === null;
  if (Array.isArray(anyOf)) {
    const some = (anyOf as unknown[]).filter((one) => asRecord(one)?.type !== "null");
    const [only] = some;
    if (some.length === 1 && anyOf.length > 1 && asRecord(only) !== undefined) {
      if (nullDefault) delete rest.default;
      return { ...asRecord(only), ...(type !== undefined && { type }), ...rest };
    }
  }
  if (Array.isArray(type) && type.includes("null")) {
    const some = (type as unknown[]).filter((one) => one !== "null");
    if (nullDefault) delete rest.default;
    return {
      ...rest,
      ...(anyOf !== undefined && { anyOf }),
      type: some.length === 1 ? some[0] : some,
    };
  }
  return schema;
}

/**
 * Options that are constants are a list to pick from: as `oneOf` with a type, of which the library
 * picks none by itself.
 */
function withType(schema: Members): Members {
  const { oneOf, anyOf, ...rest } = schema;
  if (isConstants(oneOf)) return { type: typeOf(oneOf[0]?.const), ...schema };
  if (oneOf !== undefined || !isConstants(anyOf)) return schema;
  return { type: typeOf(anyOf[0]?.const), ...rest, oneOf: anyOf };
}

function isConstants(options: unknown): options is readonly Members[] {
  if (!Array.isArray(options) || options.length === 0) return false;
  return (options as unknown[]).every((one) => "const" in (asRecord(one) ?? {}));
}

/** What the value of an option is called in a schema; the options themselves keep their types. */
function typeOf(value: unknown): string {
  if (typeof value === "number") return "number";
  return typeof value === "boolean" ? "boolean" : "string";
}

/** An object that names no members has no fields to draw, and a list of anything no entries. */
function withoutFreeType(schema: Members): Members {
  const { type, items, properties, additionalProperties: more, ...rest } = schema;
  if (type === "array" && items === undefined && schema.prefixItems === undefined) {
    return { ...schema, items: {} };
  }
  const free = properties === undefined && (more === undefined || more === true);
  const shaped = SHAPED.some((key) => key in schema);
  return type === "object" && free && !shaped ? rest : schema;
}

/** Members that give an object fields by other ways than `properties`. */
const SHAPED = ["$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties", "dependentSchemas"];
