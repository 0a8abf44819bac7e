import { asRecord } from "./json.js";
import { requiredOf, withDefinitions, type JsonSchema } from "./shape.js";

/**
 * The members that a choice asks for beside its action, as the schema's `if` and `then` have
 * them for this one; null when there is nothing more.
 */
export function choiceFields(schema: JsonSchema, value: unknown): JsonSchema | null {
  const properties = { ...asRecord(schema.properties) };
  delete properties.action;
  const required = new Set([...requiredOf(schema)].filter((name) => name !== "action"));
  const rules = Array.isArray(schema.allOf) ? (schema.allOf as unknown[]) : [];
  for (const rule of [schema, ...rules]) {
    const then = asRecord(asRecord(rule)?.then);
    if (then === undefined || !isAbout(asRecord(rule)?.if, value)) continue;
    for (const [name, part] of Object.entries(asRecord(then.properties) ?? {})) {
      if (part === false) Reflect.deleteProperty(properties, name);
      else properties[name] = part;
    }
    for (const name of requiredOf(then)) required.add(name);
  }
  if (Object.keys(properties).length === 0) return null;
  return withDefinitions(schema, { type: "object", properties, required: [...required] });
}

function isAbout(condition: unknown, value: unknown): boolean {
  const action = asRecord(asRecord(asRecord(condition)?.properties)?.action);
  return action !== undefined && "const" in action && action.const === value;
}
