import type { Interrupt } from "@ag-ui/client";
import { asRecord, asText, writeJson } from "./json.js";
import type { CallView } from "./views.js";

/** A text, or figures by name. */
export type Told = string | Readonly<Record<string, unknown>>;

/** Beside a question, so that a person can decide: why it is asked, and to what effect. */
export interface Briefing {
  readonly kind: "approval" | "decision" | "clarification";
  /** The plan, or what has to be clear first; an approval may have none. */
  readonly headline: string | null;
  /** Why a person is asked, in sentences of the server's own. */
  readonly because: string | null;
  /** The agent's or its tool's own reason for the call. */
  readonly says: string | null;
  readonly facts: readonly { readonly name: string; readonly told: Told }[];
}

/** A call that an option permits: whoever chooses that has approved it. */
export interface Permit {
  readonly tool: string;
  readonly args: unknown;
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
 * headline. Without its call at hand an approval has no briefing: then the message names the call.
 */
export function briefingOf(interrupt: Interrupt, call: CallView | null = null): Briefing | null {
  const details = asRecord(asRecord(interrupt.metadata)?.sayso);
  if (details === undefined) return null;
  if (interrupt.reason === "tool_call") {
    return call?.args !== undefined && details.tool === call.name ? approval(details) : null;
  }
  const { kind } = details;
  if (kind !== "decision" && kind !== "clarification") return null;
  const headline = asText(details.plannedAction) ?? interrupt.message?.split("\n", 1)[0];
  if (headline === undefined) return null;
  return { kind, headline, because: null, says: null, facts: factsOf(details) };
}

/** The calls that the options of a decision permit, by action. */
export function permitsOf(interrupt: Interrupt): ReadonlyMap<string, Permit> {
  const match = new Map<string, Permit>();
  const permits = asRecord(asRecord(interrupt.metadata?.sayso)?.permits) ?? {};
  for (const [action, value] of Object.entries(permits)) {
    const tool = asText(asRecord(value)?.tool);
    if (tool !== undefined) match.set(action, { tool, args: asRecord(value)?.arguments });
  }
  return match;
}

type Members = Readonly<Record<string, unknown>>;

function approval(details: Members): Briefing {
  const ran = asText(details.ranBefore);
  const because = [
    asText(details.because),
    ran === undefined ? undefined : `The same call already ran in this turn (${ran}).`,
  ];
  return {
    kind: "approval",
    headline: asText(details.title) ?? null,
    because: because.filter((text) => text !== undefined).join(" ") || null,
    says: asText(details.why) ?? null,
    facts: [...factsOf({ ...details, why: undefined }), ...changed(details.changes)],
  };
}

/** Changes by people to the arguments since they were proposed. */
function changed(changes: unknown): Briefing["facts"] {
  if (!Array.isArray(changes) || changes.length === 0) return [];
  return [{ name: "Changed", told: toldOf(changes) }];
}

function toldOf(changes: readonly unknown[]): Readonly<Record<string, string>> {
  const told = changes.flatMap((item) => {
    const { path, from, to } = asRecord(item) ?? {};
    if (typeof path !== "string") return [];
    return [[path.replace(/^\//, ""), `${brief(from)} → ${brief(to)}`] as const];
  });
  return Object.fromEntries(told);
}

/** The changes to the arguments that others have agreed to so far; null without any. */
export function agreedChanges(interrupt: Interrupt): {
  readonly by: readonly string[];
  readonly told: Readonly<Record<string, string>>;
} | null {
  const waiting = asRecord(asRecord(asRecord(interrupt.metadata)?.sayso)?.waitsFor);
  const votes = Array.isArray(waiting?.agreed) ? (waiting.agreed as unknown[]) : [];
  const changing = votes.flatMap((vote) => {
    const { by, changes } = asRecord(vote) ?? {};
    return Array.isArray(changes) && changes.length > 0 ? [{ by: asText(by) ?? "", changes }] : [];
  });
  const [first] = changing;
  if (first === undefined) return null;
  return { by: changing.map((vote) => vote.by), told: toldOf(first.changes) };
}

function brief(value: unknown): string {
  if (value === undefined) return "not given";
  return typeof value === "string" ? value : writeJson(value);
}

function factsOf(details: Members): Briefing["facts"] {
  return FACTS.flatMap(([key, name]) => {
    const value = asText(details[key]) ?? asRecord(details[key]);
    return value === undefined ? [] : [{ name, told: value }];
  });
}
