import {
  unwrapErrorHandler,
  createErrorHandler,
  validationDataMerge,
  type ErrorSchema,
  type RJSFSchema,
  type RJSFValidationError,
  type ValidatorType,
} from "@rjsf/utils";
import type { JsonSchema, Problem } from "../../core/index.js";
import { check } from "../../core/validate/validate.js";
import { outward, unread } from "./written.js";

/**
 * Our interpreting validator behind the form library's interface. What is filled in is checked
 * against `original`, not against the schema that was made for drawing, and as `sent`
 * and then `meant` make it.
 */
export const validatorFor = (
  original: JsonSchema,
  sent: (formData: unknown) => unknown,
  meant: (value: unknown) => unknown,
): ValidatorType => ({
  validateFormData(formData, _drawn, customValidate, transformErrors, uiSchema) {
    const filled = sent(formData);
    const missed = unread(filled);
    const places = new Set(missed.map((problem) => problem.pointer));
    const others = check(original, meant(outward(filled))).problems.filter(
      (problem) => !places.has(problem.pointer),
    );
    const problems = [...missed, ...others];
    const list = problems.map(toError);
    const errors = transformErrors?.(list, uiSchema) ?? list;
    const data = { errors, errorSchema: toErrorSchema(problems) };
    if (customValidate === undefined) return data;
    const handler = customValidate(formData, createErrorHandler(formData), uiSchema);
    return validationDataMerge(data, unwrapErrorHandler(handler));
  },
  isValid(schema, formData, rootSchema) {
    const definitions = (rootSchema as JsonSchema).$defs;
    const whole =
      definitions === undefined || "$defs" in schema ? schema : { ...schema, $defs: definitions };
    const verdict = check(outward(whole) as JsonSchema, outward(formData));
    return verdict.checkable && verdict.problems.length === 0;
  },
  rawValidation(schema: RJSFSchema, formData?: unknown) {
    const { checkable, problems } = check(outward(schema) as JsonSchema, outward(formData));
    return checkable
      ? { errors: [...problems] as never[] }
      : { validationError: new Error("The schema could not be read.") };
  },
});

/** Problems as the tree in which the form looks for them; the whole payload's are at the root. */
export function toErrorSchema(problems: readonly Problem[]): ErrorSchema {
  const root: Tree = {};
  for (const { pointer, message } of problems) {
    let place = root;
    for (const key of segments(pointer)) {
      if (!Object.hasOwn(place, key)) place[key] = {};
      place = place[key] as Tree;
    }
    (place.__errors ??= []).push(message);
  }
  return root as ErrorSchema;
}

interface Tree {
  __errors?: string[];
  [key: string]: Tree | string[] | undefined;
}

function toError({ pointer, message }: Problem): RJSFValidationError {
  const property = segments(pointer)
    .map((key) => `.${key}`)
    .join("");
  return { name: "schema", message, property, stack: `${property} ${message}`.trim() };
}

function segments(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
}
