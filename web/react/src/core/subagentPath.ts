import type { Interrupt } from "@ag-ui/client";
import { asRecord, asText } from "./json.js";

/**
 * Which inner agents a question came through, from the outermost in; empty for one that the agent
 * itself asks. Names say who, not which: two agents may have the same.
 */
export function subagentPath(interrupt: Interrupt): readonly string[] {
  const path: unknown = asRecord(asRecord(interrupt.metadata)?.sayso)?.path;
  if (!Array.isArray(path)) return [];
  return path.map(asText).filter((name) => name !== undefined);
}
