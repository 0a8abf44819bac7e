import { asRecord } from "../../core/json.js";
import type { JsonSchema } from "../../core/index.js";
import { plainText } from "../PlainText.js";

/**
 * A schema as the form library draws it best. "This or null" becomes "this", since an empty field
 * says the same; a choice of constants gets their type; what refers to a shared definition is called
 * by its own name; what may be anything, or an object of any members, loses its type, so that it is
 * written as JSON; a single field without a name has one. What is filled in is still checked against
 * the schema as it came.
 */
export function forForm(schema: JsonSchema): JsonSchema {
  const drawn = fixed(walk(schema) as JsonSchema);
  const { title, type, properties, $ref } = drawn;
  const single = type !== "object" && asRecord(properties) === undefined && $ref === undefined;
  return title === undefined && single ? { ...drawn, title: "Your answer" } : drawn;
}

type Members = Readonly<Record<string, unknown>>;

/** Members that hold values, not schemas. */
const DATA: ReadonlySet<string> = new Set(["const", "default", "enum", "examples", "required"]);

/** Members that are read, in which nothing may hide. */
const SAID: ReadonlySet<string> = new Set(["title", "description"]);

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
  const single = withType(withTypes(withoutNull(walked)));
  return notEmpty(withoutFreeType(withPatterns(withPlaces(withFormat(withNames(single))))));
}

function walkMember(key: string, item: unknown): unknown {
  if (DATA.has(key)) return item;
  if (SAID.has(key) && typeof item === "string") return plainText(item);
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
      const drawn = asRecord(walk(property === true ? {} : property));
      if (drawn === undefined) return [name, property];
      return [name, { ...fixed(drawn), ...own(name, drawn) }];
    }),
  );
}

function own(name: string, { title, $ref }: Members): Members {
  if (title !== undefined) return {};
  const [said, seen] = [titleOf(name), plainText(name)];
  if ($ref !== undefined) return { title: plainText(said) };
  return seen === name ? {} : { title: seen };
}

/** A member that can have one value only has it, and is there to be read. */
function fixed(schema: Members): Members {
  if (!("const" in schema) || "default" in schema) return schema;
  const drawn: Record<string, unknown> = { ...schema, default: schema.const, readOnly: true };
  if (typeof schema.const !== "object" || schema.const === null) return drawn;
  delete drawn.const;
  delete drawn.type;
  return { ...drawn, ...ANYTHING };
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
    const some = (anyOf as unknown[]).filter((item) => asRecord(item)?.type !== "null");
    const [only] = some;
    if (some.length === 1 && anyOf.length > 1 && asRecord(only) !== undefined) {
      if (nullDefault) delete rest.default;
      return { ...asRecord(only), ...(type !== undefined && { type }), ...rest, [NULLABLE]: true };
    }
  }
  if (Array.isArray(type) && type.includes("null")) {
    const some = (type as unknown[]).filter((item) => item !== "null");
    if (nullDefault) delete rest.default;
    return {
      ...rest,
      ...(anyOf !== undefined && { anyOf }),
      type: some.length === 1 ? some[0] : some,
      [NULLABLE]: true,
    };
  }
  return schema;
}

/** Members that say something of a value of whatever type. */
const OF_ALL: ReadonlySet<string> = new Set([
  "$defs",
  "default",
  "definitions",
  "description",
  "examples",
  "readOnly",
  "sayso:nullable",
  "title",
]);

/** Of several types one is picked first: the library draws the first one only. */
function withTypes({ type, ...rest }: Members): Members {
  const types: readonly unknown[] = Array.isArray(type) ? type : [];
  if (types.length < 2) return type === undefined ? rest : { ...rest, type };
  if (["enum", "const", "anyOf", "oneOf"].some((key) => key in rest)) return rest;
  const entries = Object.entries(rest);
  const own = Object.fromEntries(entries.filter(([key]) => !OF_ALL.has(key)));
  return {
    ...Object.fromEntries(entries.filter(([key]) => OF_ALL.has(key))),
    anyOf: types.map((item) => withoutFreeType({ ...own, type: item })),
  };
}

/** The words for a kind of value, where one picks a kind. */
const NAMES: Readonly<Record<string, string>> = {
  array: "List",
  boolean: "Yes or no",
  date: "Date",
  "date-time": "Date and time",
  "date-time-local": "Date and time",
  integer: "Whole number",
  null: "None",
  number: "Number",
  object: "Group",
  string: "Text",
  time: "Time",
  "time-local": "Time",
};

/** Alternatives go by what they are, where that tells them apart; not by their numbers. */
function withNames(schema: Members): Members {
  const { anyOf, oneOf } = schema;
  return {
    ...schema,
    ...(Array.isArray(anyOf) && { anyOf: nameAll(anyOf) }),
    ...(Array.isArray(oneOf) && { oneOf: nameAll(oneOf) }),
  };
}

function nameAll(options: readonly unknown[]): readonly unknown[] {
  const names = options.map(nameOf);
  return options.map((option, index) => {
    const name = names[index];
    const alone = name !== undefined && names.indexOf(name) === names.lastIndexOf(name);
    return alone ? { title: name, ...asRecord(option) } : option;
  });
}

function nameOf(option: unknown): string | undefined {
  const { title, $ref, type, format } = asRecord(option) ?? {};
  if (title !== undefined || $ref !== undefined || typeof type !== "string") return undefined;
  return (typeof format === "string" ? NAMES[format] : undefined) ?? NAMES[type];
}

/** True for a schema that takes anything: the library draws nothing for it. */
const ANYTHING: Members = { "sayso:any": true };

function notEmpty(schema: Members): Members {
  return Object.keys(schema).length === 0 ? ANYTHING : schema;
}

/** The member that says of what is drawn that it may also be null, as which an empty field counts. */
export const NULLABLE = "sayso:nullable";

/** The member that holds the options of a long list, for the widget that draws it. */
export const OPTIONS = "sayso:options";
/** From here on the library, which tries one option after the other, is given bare values. */
const MAX_SELECT_OPTIONS = 100;

/**
 * Options that are constants are a list to pick from: as `oneOf` with a type, of which the library
 * picks none by itself, or as a plain `enum` where there are many.
 */
function withType(schema: Members): Members {
  const { oneOf, anyOf, ...rest } = schema;
  const options = oneOf ?? anyOf;
  if (!isConstants(options)) return schema;
  const others = {
    ...rest,
    ...(oneOf !== undefined && anyOf !== undefined && { anyOf }),
    type: rest.type ?? typeOf(options[0]?.const),
  };
  if (options.length <= MAX_SELECT_OPTIONS) return { ...others, oneOf: options };
  return { ...others, enum: options.map((option) => option.const), [OPTIONS]: options };
}

function isConstants(options: unknown): options is readonly Members[] {
  if (!Array.isArray(options) || options.length === 0) return false;
  return (options as unknown[]).every((item) => "const" in (asRecord(item) ?? {}));
}

/** The name of an option's value in a schema; the options themselves keep their types. */
function typeOf(value: unknown): string {
  if (typeof value === "number" || typeof value === "bigint") return "number";
  return typeof value === "boolean" ? "boolean" : "string";
}

/** Formats that have a field of their own; the library has some more, one of which hides its field. */
const FORMATS: ReadonlySet<unknown> = new Set([
  "data-url",
  "date",
  "date-time",
  "date-time-local",
  "email",
  "password",
  "time",
  "time-local",
  "uri",
]);

function withFormat(schema: Members): Members {
  const { format, ...rest } = schema;
  return format === undefined || FORMATS.has(format) ? schema : rest;
}

/** A list with a schema for each place, in the words of older schemas, which the library knows. */
function withPlaces(schema: Members): Members {
  const { prefixItems, items, ...rest } = schema;
  if (!Array.isArray(prefixItems) || prefixItems.length === 0) return schema;
  const places = (prefixItems as unknown[]).map((item) => (item === true ? ANYTHING : item));
  const full = typeof rest.maxItems === "number" && rest.maxItems <= places.length;
  const more = full || items === false ? false : items === true ? ANYTHING : (items ?? ANYTHING);
  return { ...rest, items: places, additionalItems: more };
}

/** Members by the pattern of their names have one field each, as any others that a person names. */
function withPatterns(schema: Members): Members {
  const { patternProperties, ...rest } = schema;
  const [one, ...others] = Object.values(asRecord(patternProperties) ?? {});
  if (one === undefined) return schema;
  const more = others.length === 0 && asRecord(one) !== undefined ? one : ANYTHING;
  return { ...rest, additionalProperties: more };
}

/** An object that names no members has no fields to draw, and a list of anything no entries. */
function withoutFreeType(schema: Members): Members {
  const { type, items, properties, additionalProperties: more, ...rest } = schema;
  if (type === "array" && (items === undefined || items === true)) {
    return { ...schema, items: ANYTHING };
  }
  const free = properties === undefined && (more === undefined || more === true);
  const shaped = SHAPED.some((key) => key in schema);
  return type === "object" && free && !shaped ? rest : schema;
}

/** Members that give an object fields by other ways than `properties`. */
const SHAPED = ["$ref", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"];
