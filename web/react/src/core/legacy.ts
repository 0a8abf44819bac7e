import type { Interrupt } from "@ag-ui/client";
import { rounded } from "./exact.js";
import { asRecord, asText, parseJson, writeJson } from "./json.js";
import { readInterrupt } from "./readInterrupt.js";
import type { Answer } from "./types.js";

/** The name of the event by which older servers ask (LG-01). */
export const LEGACY_EVENT = "on_interrupt";

/** A question asked by a custom event: the interrupt made of it, and the value as it came. */
export interface LegacyQuestion {
  readonly interrupt: Interrupt;
  readonly value: unknown;
}

/**
 * Reads the value of an `on_interrupt` event: an interrupt, as an object or as JSON text, or
 * anything else, which is then the question itself and takes free text (LG-02, LG-03).
 */
export function readLegacy(value: unknown, runId: string): LegacyQuestion {
  const parsed = typeof value === "string" ? (parseJson(value) ?? value) : value;
  const interrupt = readInterrupt(parsed);
  if (interrupt !== null) return { interrupt, value };
  const record = asRecord(parsed);
  const said = [record?.message, record?.question, record?.prompt].map(asText).find(Boolean);
  const message = said ?? asText(parsed) ?? writeJson(parsed, 2);
  return { interrupt: { id: `legacy:${runId}`, reason: "input_required", message }, value };
}

/**
 * The answer to such a question, for `forwardedProps` (LG-04). A payload that was not given is
 * absent, not null; the event goes back as it came, which says what is answered.
 */
export function legacyCommand(
  question: LegacyQuestion,
  answer: Extract<Answer, { status: "resolved" }>,
): Readonly<Record<string, unknown>> {
  const { payload } = answer;
  // A command has no place for digits: what comes rounded, its server refuses.
  const resume = payload === undefined ? {} : { resume: rounded(payload) };
  return { command: { ...resume, interruptEvent: question.value } };
}
