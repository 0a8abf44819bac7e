import type { Interrupt } from "@ag-ui/client";
import { readResult } from "./callResult.js";
import { asRecord, asText } from "./json.js";
import { readAnswer, readInterrupt } from "./readInterrupt.js";
import type { Answer, Closed } from "./types.js";

/** An answer that the server keeps until the others of its set are there. */
export interface Held {
  readonly answer: Answer;
  readonly by: string | null;
}

/** An open interrupt of any thread, as the inbox lists it. */
export interface InboxItem {
  readonly interrupt: Interrupt;
  readonly threadId: string;
  readonly agent: string;
  /** True if its thread is the reader's own, so that it opens. */
  readonly yours: boolean;
  /** When it was asked, in epoch milliseconds. */
  readonly createdAt: number;
  readonly assignedTo: string | null;
  readonly held: Held | null;
  /** Who has agreed so far, where several people have to. */
  readonly agreed: readonly string[];
  /** Past its time, and kept open only to be cancelled. */
  readonly lapsed: boolean;
}

/** The server's word on one interrupt: it is open, or it ended like this. */
export interface Listed {
  readonly item: InboxItem;
  readonly closed: Closed | null;
}

/** Reads one interrupt of the REST interface; null for what cannot be one (A3). */
export function readListed(value: unknown, now: number): Listed | null {
  const view = asRecord(value);
  const interrupt = readInterrupt(view);
  const threadId = asText(view?.threadId);
  if (view === undefined || interrupt === null || threadId === undefined) return null;
  const input = asRecord(view.answer);
  const answer = readAnswer(input);
  const by = asText(input?.by) ?? null;
  const open = (asText(view.status) ?? "open") === "open";
  const item: InboxItem = {
    interrupt,
    threadId,
    agent: asText(view.agent) ?? "",
    yours: view.yours !== false,
    createdAt: time(view.createdAt) ?? now,
    assignedTo: asText(view.assignedTo) ?? null,
    held: open && answer !== null ? { answer, by } : null,
    agreed: votersOf(view.agreed),
    lapsed: view.lapsedAt !== undefined,
  };
  if (open) return { item, closed: null };
  const decidedAt = asText(input?.at);
  const result = readResult(view.result);
  return {
    item,
    closed: {
      interrupt,
      ending: endingOf(view.status, input?.channel),
      answer,
      closedAt: time(decidedAt) ?? now,
      ...(by !== null && { by }),
      ...(decidedAt !== undefined && { at: decidedAt }),
      ...(result !== null && { result }),
    },
  };
}

/** By status and channel: a turn that was stopped, or a time that ran out, decided for itself. */
function endingOf(status: unknown, channel: unknown): Closed["ending"] {
  if (channel === "stop") return "stopped";
  return status === "expired" ? "expired" : "answeredElsewhere";
}

function votersOf(value: unknown): readonly string[] {
  return (Array.isArray(value) ? value : []).flatMap((vote) => asText(asRecord(vote)?.by) ?? []);
}

function time(value: unknown): number | undefined {
  const ms = typeof value === "string" ? Date.parse(value) : NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
