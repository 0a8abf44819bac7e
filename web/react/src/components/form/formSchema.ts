import { asRecord } from "../../core/json.js";
import type { JsonSchema } from "../../core/index.js";

/**
 * A schema as the form library draws it best. "This or null" becomes "this", since an empty field
 * says the same; what is filled in is still checked against the schema as it came.
 */
export function forForm(schema: JsonSchema): JsonSchema {
  return walk(schema) as JsonSchema;
}

function walk(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(walk);
  const schema = asRecord(value);
  if (schema === undefined) return value;
  const walked = Object.fromEntries(
    Object.entries(schema).map(([key, item]) => [key, DATA.has(key) ? item : walk(item)]),
  );
  return withoutNull(walked);
}

/** Members that hold values, not schemas. */
const DATA: ReadonlySet<string> = new Set(["const", "default", "enum", "examples", "required"]);

function withoutNull(schema: Record<string, unknown>): Record<string, unknown> {
  const { anyOf, type, ...rest } = schema;
  const nullDefault = rest.default === null;
  if (Array.isArray(anyOf)) {
    const others = (anyOf as unknown[]).filter((one) => asRecord(one)?.type !== "null");
    const [only] = others;
    if (others.length === 1 && anyOf.length > 1 && asRecord(only) !== undefined) {
      if (nullDefault) delete rest.default;
      return { ...asRecord(only), ...(type !== undefined && { type }), ...rest };
    }
  }
  if (Array.isArray(type) && type.includes("null")) {
    const others = (type as unknown[]).filter((one) => one !== "null");
    if (nullDefault) delete rest.default;
    return {
      ...rest,
      ...(anyOf !== undefined && { anyOf }),
      type: others.length === 1 ? others[0] : others,
    };
  }
  return schema;
}
