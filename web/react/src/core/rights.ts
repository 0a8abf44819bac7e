import type { Interrupt } from "@ag-ui/client";
import { asRecord, asText, textsOf } from "./json.js";

/** The reader's rights to a question, as the server says them, and whom it waits for. */
export interface Rights {
  /** The server would take an answer. So it is with servers that say nothing about it. */
  readonly answer: boolean;
  /** The server would take an answer after this reader has signed in again. */
  readonly signIn: boolean;
  /** The seconds for which a sign-in lets this reader answer; null: any does. */
  readonly signInSeconds: number | null;
  /** This reader is barred because it asked for it. */
  readonly youAsked: boolean;
  /** It may be closed without an answer. */
  readonly cancel: boolean;
  /** This reader's agreement, or held answer, may be taken back. */
  readonly takeBack: boolean;
  /** For whom it waits: `a lead and finance`; null for the reader, or whoever has the thread. */
  readonly waitsFor: string | null;
  /** Who has agreed so far, where several have to. */
  readonly agreed: readonly string[];
  /** True if this reader is one of them. */
  readonly youAgreed: boolean;
  /** Whose answer is kept until the other questions of its turn are answered; null for none. */
  readonly heldBy: string | null;
}

/** Reads `metadata.sayso` of a question; nothing is worked out from roles here. */
export function rightsOf(interrupt: Interrupt): Rights {
  const ours = asRecord(asRecord(interrupt.metadata)?.sayso);
  const may = Array.isArray(ours?.may) ? (ours.may as unknown[]) : ["answer", "cancel"];
  const waiting = asRecord(ours?.waitsFor);
  const votes = Array.isArray(waiting?.agreed) ? (waiting.agreed as unknown[]) : [];
  const seconds = asRecord(ours?.approvers)?.stepUp;
  const held = asRecord(waiting === undefined ? ours?.held : waiting.held);
  // Where nobody else is waited for, it is the reader's own question, and own word.
  const ownHeld = waiting === undefined && held !== undefined;
  return {
    answer: may.includes("answer"),
    signIn: may.includes("signIn"),
    signInSeconds: typeof seconds === "number" ? seconds : null,
    youAsked: waiting?.you === "requester",
    cancel: may.includes("cancel"),
    takeBack: may.includes("takeBack"),
    waitsFor: waiting === undefined ? null : namesOf(waiting),
    agreed: votes.flatMap((vote) => asText(asRecord(vote)?.by) ?? []),
    youAgreed: waiting?.you === "agreed" || waiting?.you === "held" || ownHeld,
    heldBy: asText(held?.by) ?? null,
  };
}

/** True if the server would take this reader's answer; small, for who needs no more of it. */
export function mayAnswer(interrupt: Interrupt): boolean {
  return mayDo(interrupt, "answer");
}

/** True if the server would let this reader do that, or says nothing about it. */
export function mayDo(interrupt: Interrupt, verb: "answer" | "assign" | "extend"): boolean {
  const may = asRecord(asRecord(interrupt.metadata)?.sayso)?.may;
  return !Array.isArray(may) || may.includes(verb);
}

/** The same question, whoever looks at it, whoever has agreed and however long it was extended. */
export function asAsked(interrupt: Interrupt): Interrupt {
  const ours = asRecord(asRecord(interrupt.metadata)?.sayso);
  const sayso = { ...ours, may: null, waitsFor: null, held: null, digest: null };
  return { ...interrupt, expiresAt: "", metadata: { ...interrupt.metadata, sayso } };
}

/** Those of whom a word is missing, or all that may give one. */
function namesOf(waiting: Readonly<Record<string, unknown>>): string | null {
  const missing = asRecord(waiting.missing);
  const open =
    missing === undefined ? [] : Object.keys(missing).filter((text) => missing[text] !== 0);
  const people = textsOf(waiting.people);
  const roles = open.length > 0 ? open : textsOf(waiting.roles);
  const named = [...roles.map((role) => `the role ${role}`), ...people];
  if (named.length === 0) return null;
  const last = named.at(-1) ?? "";
  const word = open.length > 1 ? "and" : "or";
  return named.length === 1 ? last : `${named.slice(0, -1).join(", ")} ${word} ${last}`;
}
