import { asRecord } from "./json.js";
import { choiceFields } from "./choiceFields.js";
import { withDefinitions, type JsonSchema } from "./shape.js";
import type { Interrupt } from "./types.js";

/** What a person may give at a breakpoint in place of what is shown there. */
export interface Instead {
  readonly member: "editedArgs" | "result";
  readonly schema: JsonSchema;
  /** What it takes the place of; undefined where that is not told. */
  readonly shown: unknown;
}

/** What `continue` may bring along at this breakpoint; null where it may not bring anything. */
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
