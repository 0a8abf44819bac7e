import type { Interrupt } from "@ag-ui/client";
import { briefingOf } from "./briefing.js";
import { LABELS } from "./codes.js";

/** What an interrupt is about, in a word or two; a reason that nobody here knows is its own label. */
export function labelOf(interrupt: Interrupt): string {
  if (briefingOf(interrupt)?.kind === "clarification") return "Clarification";
  return LABELS.get(interrupt.reason) ?? interrupt.reason;
}
