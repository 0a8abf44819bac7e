import { asRecord } from "./json.js";
import { choiceFields } from "./choiceFields.js";
import { withDefinitions, type JsonSchema } from "./shape.js";
import type { Interrupt } from "./types.js";

/** The value that a person may give at a breakpoint in place of the one shown there. */
export interface Instead {
  readonly member: "editedArgs" | "result";
  readonly schema: JsonSchema;
  /** The value that it replaces; undefined where that is not told. */
  readonly shown: unknown;
}

/** The value that `continue` may bring at this breakpoint; null where it may not bring any. */
export function insteadAt(interrupt: Interrupt): Instead | null {
  const schema = asRecord(interrupt.responseSchema);
  if (interrupt.reason !== "sayso:breakpoint" || schema === undefined) return null;
  const rest = choiceFields(schema, "continue");
  const members = asRecord(rest?.properties);
  const details = asRecord(asRecord(interrupt.metadata)?.sayso);
  for (const [member, shown] of [
    ["editedArgs", details?.arguments],
    ["result", details?.result],
  ] as const) {
    const part = asRecord(members?.[member]);
    if (part !== undefined) return { member, schema: withDefinitions(schema, part), shown };
  }
  return null;
}
