import {
  ADDITIONAL_PROPERTY_FLAG,
  createSchemaUtils,
  type RJSFSchema,
  type ValidatorType,
} from "@rjsf/utils";
import type { JsonSchema } from "../../core/index.js";
import { asRecord, equalJson } from "../../core/json.js";
import { NULLABLE } from "./formSchema.js";

type Behavior = Parameters<typeof createSchemaUtils>[2];

/**
 * Filled-in values, without the optional parts that nobody touched: an object that holds no more
 * than its defaults, and lacks what it would need, was not meant to be given (S2). What may be null,
 * is empty and would be missed, or would be something else if it were left out, is null. A group that
 * has to be given is given empty, so that its own fields say what they lack.
 */
export function withoutUntouched(
  validator: ValidatorType,
  drawn: JsonSchema,
  behavior: Behavior,
  data: unknown,
): unknown {
  const utils = createSchemaUtils(validator, drawn as RJSFSchema, behavior);
  const strip = (schema: RJSFSchema, value: unknown): unknown => {
    if (Array.isArray(value)) {
      const items = asRecord(utils.retrieveSchema(schema, value).items);
      return items === undefined ? value : value.map((item) => strip(items as RJSFSchema, item));
    }
    const record = asRecord(value);
    if (record === undefined) return value;
    const { properties = {}, required = [] } = utils.retrieveSchema(schema, record);
    const entries = Object.entries(record).flatMap(([name, member]) => {
      const own = properties[name];
      if (typeof own !== "object") return [[name, member] as const];
      const left = strip(own, member);
      const optional = !required.includes(name) || NULLABLE in own;
      if (optional && asRecord(left) !== undefined && isUntouched(own, member, left)) return [];
      return [[name, left] as const];
    });
    return Object.fromEntries(entries);
  };
  const isUntouched = (schema: RJSFSchema, member: unknown, left: unknown) => {
    const fresh: unknown = utils.getDefaultFormState(schema, undefined);
    if (!equalJson(member, fresh ?? {})) return false;
    return !validator.isValid(utils.retrieveSchema(schema, left), left, drawn);
  };
  // A group that looks like one around it is not drawn: it would contain itself without an end.
  const isGroup = (schema: RJSFSchema, around: Around) => {
    const { properties } = utils.retrieveSchema(schema);
    return (
      properties !== undefined && !(NULLABLE in schema) && !around.includes(namesOf(properties))
    );
  };
  const fill = (schema: RJSFSchema, value: unknown, around: Around): unknown => {
    if (value === undefined) return NULLABLE in schema ? null : undefined;
    if (Array.isArray(value)) {
      const { items } = utils.retrieveSchema(schema, value);
      return value.map((item: unknown, index) => {
        const own = Array.isArray(items) ? items[index] : items;
        return typeof own === "object" ? fill(own, item, around) : item;
      });
    }
    const record = asRecord(value);
    if (record === undefined) return value;
    const { properties = {}, required = [] } = utils.retrieveSchema(schema, record);
    const whole: Record<string, unknown> = { ...record };
    const within = [...around, namesOf(properties)];
    for (const [name, own] of Object.entries(properties)) {
      if (typeof own !== "object") continue;
      const needed = required.includes(name);
      const meant = needed || "default" in own || ADDITIONAL_PROPERTY_FLAG in own;
      const missing = needed && record[name] === undefined;
      const input = missing && isGroup(own, within) ? {} : record[name];
      if (meant || input !== undefined) whole[name] = fill(own, input, within);
    }
    return whole;
  };
  return fill(drawn, strip(drawn, data), []);
}

/** The names of the members of each group around a place. */
type Around = readonly string[];

function namesOf(properties: object): string {
  return JSON.stringify(Object.keys(properties));
}
