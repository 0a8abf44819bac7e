import { textsOf } from "@sayso/react/core";
import { isRecord, recordsOf, textOrNull } from "../rest.js";

/** The context of a question, as `GET /interrupts/{id}/context` says it. */
export interface QuestionContext {
  readonly askedFor: string | null;
  readonly agent: string;
  readonly path: readonly string[];
  readonly askedAt: string | null;
  /** The user's message that began the turn; null once the turn is over. */
  readonly request: { readonly text: string; readonly at: string | null } | null;
  readonly said: readonly { readonly by: string; readonly text: string }[];
  readonly did: readonly Did[];
  /** How many of the agent's texts and effects are left out, the oldest first. */
  readonly omitted: { readonly said: number; readonly did: number };
  readonly siblings: readonly Sibling[];
  readonly earlier: readonly Earlier[];
  readonly expires: { readonly at: string; readonly then: string } | null;
}

export interface Did {
  readonly kind: string;
  readonly name: string;
  readonly status: string;
  readonly effect: string | null;
  readonly args: unknown;
  readonly result: unknown;
}

export interface Sibling {
  readonly id: string;
  readonly title: string;
  readonly status: string;
  readonly mayAnswer: boolean;
}

export interface Earlier {
  readonly at: string | null;
  readonly by: string;
  readonly status: string;
  readonly reason: string | null;
  /** How many of the arguments were changed. */
  readonly changes: number;
}

/** Reads a context; what cannot be read of it is left out. Null for what is none. */
export function readContext(value: unknown): QuestionContext | null {
  if (!isRecord(value)) return null;
  const requested = isRecord(value.asked) ? value.asked : {};
  const request = isRecord(value.request) ? value.request : null;
  const omitted = isRecord(value.omitted) ? value.omitted : {};
  const expires = isRecord(value.expires) ? value.expires : {};
  const ends = textOrNull(expires.at);
  return {
    askedFor: textOrNull(requested.for),
    agent: textOrNull(requested.agent) ?? "",
    path: textsOf(requested.path),
    askedAt: textOrNull(requested.at),
    request:
      request === null
        ? null
        : { text: textOrNull(request.text) ?? "", at: textOrNull(request.at) },
    said: recordsOf(value.said).map((record) => ({
      by: textOrNull(record.by) ?? "",
      text: textOrNull(record.text) ?? "",
    })),
    did: recordsOf(value.did).map((record) => ({
      kind: textOrNull(record.kind) ?? "call",
      name: textOrNull(record.name) ?? "",
      status: textOrNull(record.status) ?? "",
      effect: textOrNull(record.effect),
      args: record.args,
      result: record.result,
    })),
    omitted: { said: countOf(omitted.said), did: countOf(omitted.did) },
    siblings: recordsOf(value.siblings).map((record) => ({
      id: textOrNull(record.interruptId) ?? "",
      title: textOrNull(record.title) ?? "A question",
      status: textOrNull(record.status) ?? "open",
      mayAnswer: textsOf(record.may).includes("answer"),
    })),
    earlier: recordsOf(value.earlier).map((record) => ({
      at: textOrNull(record.at),
      by: textOrNull(record.by) ?? "unknown",
      status: textOrNull(record.status) ?? "",
      reason: textOrNull(record.reason),
      changes: recordsOf(record.changes).length,
    })),
    expires: ends === null ? null : { at: ends, then: textOrNull(expires.then) ?? "" },
  };
}

function countOf(value: unknown): number {
  return typeof value === "number" && value > 0 ? value : 0;
}
