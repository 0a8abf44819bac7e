import type { Interrupt } from "@ag-ui/client";
import { asRecord, asText } from "./json.js";

/** A text, or figures by name. */
export type Told = string | Readonly<Record<string, unknown>>;

/** What a question says beside itself, so that a person can decide: why, and to what effect. */
export interface Briefing {
  readonly kind: "decision" | "clarification";
  /** What is planned, or what has to be clear first. */
  readonly headline: string;
  readonly facts: readonly { readonly name: string; readonly told: Told }[];
}

const FACTS = [
  ["why", "Why"],
  ["impact", "Impact"],
  ["scope", "Scope"],
  ["blastRadius", "Blast radius"],
] as const;

/**
 * Reads it off `metadata.sayso`; null for any other question, whose message says it all. The message
 * of such a question is the same in lines, for clients that show nothing else; its first is the
 * headline.
 */
export function briefingOf(interrupt: Interrupt): Briefing | null {
  const told = asRecord(asRecord(interrupt.metadata)?.sayso);
  const { kind } = told ?? {};
  if (told === undefined || (kind !== "decision" && kind !== "clarification")) return null;
  const headline = asText(told.plannedAction) ?? interrupt.message?.split("\n", 1)[0];
  if (headline === undefined) return null;
  const facts = FACTS.flatMap(([key, name]) => {
    const value = asText(told[key]) ?? asRecord(told[key]);
    return value === undefined ? [] : [{ name, told: value }];
  });
  return { kind, headline, facts };
}
