import type { Interrupt } from "@ag-ui/client";
import { resolve } from "./bounds.js";
import { asRecord, equalJson, textsOf } from "./json.js";
import { mayAnswer } from "./rights.js";
import type { JsonSchema } from "./shape.js";

/** Stands where people read in place of a secret, and in a form for one that nobody types anew. */
export const NOT_SHOWN = "(not shown)";
const MAX_DEPTH = 8;
const ID = /^[0-9a-f]{64}$/;

/** True for what a server sends in place of a value that it keeps apart: `{secret: id}`. */
export function isSecret(value: unknown): boolean {
  const record = asRecord(value);
  if (record === undefined || Object.keys(record).length !== 1) return false;
  return typeof record.secret === "string" && ID.test(record.secret);
}

/** A value with `(not shown)` in place of its secrets. */
export function withoutSecrets(value: unknown): unknown {
  if (isSecret(value)) return NOT_SHOWN;
  if (Array.isArray(value)) return value.map(withoutSecrets);
  const record = asRecord(value);
  if (record === undefined) return value;
  return Object.fromEntries(
    Object.entries(record).map(([key, item]) => [key, withoutSecrets(item)]),
  );
}

/**
 * What a form made of `withoutSecrets(args)`, with the secrets that nobody has typed anew. In a list
 * only an item that is otherwise as it was has its own: it may have moved.
 */
export function withSecretsLeft(edited: unknown, args: unknown): unknown {
  if (edited === NOT_SHOWN && isSecret(args)) return args;
  if (Array.isArray(edited) && Array.isArray(args)) {
    const before = args as unknown[];
    return edited.map((item: unknown, at) => {
      const same = [before[at], ...before].find((other) => equalJson(withoutSecrets(other), item));
      return same === undefined ? item : same;
    });
  }
  const [now, before] = [asRecord(edited), asRecord(args)];
  if (now === undefined || before === undefined) return edited;
  return Object.fromEntries(
    Object.entries(now).map(([key, item]) => [key, withSecretsLeft(item, before[key])]),
  );
}

/** True if an answer to a question may have a secret in it: such a one is not left lying about. */
export function takesSecret({ responseSchema }: Interrupt): boolean {
  return marksSecret(responseSchema);
}

function marksSecret(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.some(marksSecret);
  const record = asRecord(schema);
  if (record === undefined) return false;
  return isMark(record) || Object.values(record).some(marksSecret);
}

function isMark(schema: JsonSchema): boolean {
  return schema.writeOnly === true || schema.format === "password";
}

/** A value with `(not shown)` in place of what its schema marks as secret. */
export function withoutMarked(value: unknown, root: JsonSchema): unknown {
  const hide = (part: unknown, schemas: readonly unknown[]): unknown => {
    const all = schemas.flatMap((schema) => applied(schema, root));
    if (all.some(isMark) && !isSecret(part)) return NOT_SHOWN;
    if (Array.isArray(part)) {
      return part.map((item: unknown, place) =>
        hide(
          item,
          all.flatMap((schema) => itemsOf(schema, place)),
        ),
      );
    }
    const record = asRecord(part);
    if (record === undefined) return part;
    const members = Object.entries(record).map(([key, item]) => [
      key,
      hide(
        item,
        all.flatMap((schema) => membersOf(schema, key)),
      ),
    ]);
    return Object.fromEntries(members) as unknown;
  };
  return hide(value, [root]);
}

/** A schema and all that may apply to the same value: what it refers to, and what it is made of. */
function applied(schema: unknown, root: JsonSchema, depth = 0): readonly JsonSchema[] {
  const record = asRecord(schema);
  if (record === undefined || depth > MAX_DEPTH) return [];
  const { $ref, allOf, anyOf, oneOf } = record;
  const parts = [allOf, anyOf, oneOf].flatMap((list) =>
    Array.isArray(list) ? (list as unknown[]) : [],
  );
  const target = typeof $ref === "string" ? [resolve(root, $ref)] : [];
  const others = [...target, ...parts, record.then, record.else];
  return [record, ...others.flatMap((other) => applied(other, root, depth + 1))];
}

function itemsOf({ items, prefixItems }: JsonSchema, place: number): readonly unknown[] {
  return [items, Array.isArray(prefixItems) ? (prefixItems as unknown[])[place] : undefined];
}

function membersOf(schema: JsonSchema, key: string): readonly unknown[] {
  const properties = asRecord(schema.properties) ?? {};
  if (Object.hasOwn(properties, key)) return [properties[key]];
  return [schema.additionalProperties, ...Object.values(asRecord(schema.patternProperties) ?? {})];
}

/** JSON Pointers to the secrets of a call that this reader may be shown now; none for others. */
export function revealsOf(interrupt: Interrupt): readonly string[] {
  const ours = asRecord(asRecord(interrupt.metadata)?.sayso);
  return mayAnswer(interrupt) ? textsOf(ours?.reveal) : [];
}
