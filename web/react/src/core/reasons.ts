import type { Interrupt } from "@ag-ui/client";
import { briefingOf } from "./briefing.js";
import { LABELS } from "./codes.js";

/** The label of an interrupt, in a word or two; an unknown reason is its own label. */
export function labelOf(interrupt: Interrupt): string {
  if (briefingOf(interrupt)?.kind === "clarification") return "Clarification";
  return LABELS.get(interrupt.reason) ?? interrupt.reason;
}
