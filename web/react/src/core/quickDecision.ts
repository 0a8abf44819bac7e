import { rightsOf } from "./rights.js";
import { shapeOf } from "./shape.js";
import type { Answer, Interrupt } from "./types.js";

/** The form of a plain yes or no to an interrupt, and what else it takes. */
export interface Quick {
  readonly bare: boolean;
  readonly reason: "none" | "optional" | "required";
}

/**
 * How an interrupt is approved or denied without anything more; null when it asks for more than a
 * yes or no, so that it needs an answer of its own (V2).
 */
export function quickOf(interrupt: Interrupt): Quick | null {
  const shape = shapeOf(interrupt);
  if (!rightsOf(interrupt).answer) return null;
  if (shape.kind !== "approval" || shape.extras.some((extra) => extra.required)) return null;
  return { bare: shape.bare, reason: shape.reason };
}

/** The answer itself; a reason goes along where the question takes one. */
export function quickAnswer(quick: Quick, approved: boolean, reason = ""): Answer {
  if (quick.bare) return { status: "resolved", payload: approved };
  const said = reason !== "" && quick.reason !== "none" ? { reason } : {};
  return { status: "resolved", payload: { approved, ...said } };
}
