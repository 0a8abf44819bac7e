import { createSchemaUtils, type RJSFSchema, type ValidatorType } from "@rjsf/utils";
import type { JsonSchema } from "../../core/index.js";
import { asRecord, equalJson } from "../../core/json.js";

type Behavior = Parameters<typeof createSchemaUtils>[2];

/**
 * What is filled in, without the optional parts that nobody touched: an object that holds no more
 * than its defaults, and lacks what it would need, was not meant to be given (S2).
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
      return items === undefined ? value : value.map((one) => strip(items as RJSFSchema, one));
    }
    const record = asRecord(value);
    if (record === undefined) return value;
    const { properties = {}, required = [] } = utils.retrieveSchema(schema, record);
    const entries = Object.entries(record).flatMap(([name, member]) => {
      const own = properties[name];
      if (typeof own !== "object") return [[name, member] as const];
      const left = strip(own, member);
      const optional = !required.includes(name) && asRecord(left) !== undefined;
      if (optional && isUntouched(own, member, left)) return [];
      return [[name, left] as const];
    });
    return Object.fromEntries(entries);
  };
  const isUntouched = (schema: RJSFSchema, member: unknown, left: unknown) => {
    const fresh: unknown = utils.getDefaultFormState(schema, undefined);
    if (!equalJson(member, fresh ?? {})) return false;
    return !validator.isValid(utils.retrieveSchema(schema, left), left, drawn);
  };
  return strip(drawn, data);
}
