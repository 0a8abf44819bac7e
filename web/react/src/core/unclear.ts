import type { Interrupt } from "@ag-ui/client";
import { asRecord, asText } from "./json.js";
import type { JsonSchema } from "./shape.js";

/** An effect that was begun and of which nobody knows whether it happened, as the server tells it. */
export interface Unclear {
  /** The name of the tool or step. */
  readonly name: string;
  /** The real arguments; undefined for a step whose author does not show them. */
  readonly args: Readonly<Record<string, unknown>> | undefined;
  /** Where to see whether it happened. */
  readonly look: string | null;
  /** When it began, in epoch milliseconds. */
  readonly startedAt: number | null;
  /** The key under which the outside world may know the call. */
  readonly key: string | null;
}

/** Reads it off `metadata.sayso`; null for any other question. */
export function unclearOf(interrupt: Interrupt): Unclear | null {
  const details = asRecord(asRecord(interrupt.metadata)?.sayso);
  const name = asText(details?.name);
  if (details?.kind !== "indeterminate" || name === undefined) return null;
  const startedAt = Date.parse(asText(details.startedAt) ?? "");
  return {
    name,
    args: asRecord(details.arguments),
    look: asText(details.look) ?? null,
    startedAt: Number.isNaN(startedAt) ? null : startedAt,
    key: asText(details.key) ?? null,
  };
}

/**
 * The `responseSchema` of such a question as it is drawn: what it came to is asked for where it is
 * skipped, and only there; not at all where there cannot be any.
 */
export function unclearSchema(schema: JsonSchema): JsonSchema {
  const properties = asRecord(schema.properties) ?? {};
  const result = asRecord(properties.result);
  if (result === undefined) return schema;
  const actions = asRecord(properties.action)?.oneOf;
  const without = (Array.isArray(actions) ? (actions as unknown[]) : []).flatMap((item) => {
    const value = asRecord(item)?.const;
    if (value === "skip" && result.type !== "null") return [];
    const when = { properties: { action: { const: value } }, required: ["action"] };
    return [{ if: when, then: { properties: { result: false } } }];
  });
  const rules = Array.isArray(schema.allOf) ? (schema.allOf as unknown[]) : [];
  const requested = { ...result, description: "What it returned. The agent continues with it." };
  return {
    ...schema,
    properties: { ...properties, result: requested },
    allOf: [...rules, ...without],
  };
}
