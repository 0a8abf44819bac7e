import type { Interrupt, Message } from "@sayso/react";
import { isRecord, recordsOf, textOrNull } from "../rest.js";

/** A thread in a list. */
export interface ThreadRow {
  readonly threadId: string;
  readonly agent: string;
  readonly status: string;
  readonly running: boolean;
  readonly outcome: string | null;
  readonly open: number;
  readonly updatedAt: string | null;
  /** A keeper keeps it: it cannot be deleted. */
  readonly onHold: boolean;
}

/** A keeper's word that a thread is not deleted. */
export interface Hold {
  readonly by: string;
  readonly reason: string;
  readonly at: string | null;
}

/** A run of a thread, from its first event to its outcome. */
export interface RunRecord {
  readonly runId: string;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly outcome: string | null;
  readonly message: string | null;
}

/** A question of a thread and what became of it. */
export interface QuestionRecord {
  readonly interrupt: Interrupt;
  readonly createdAt: string | null;
  readonly status: string;
  readonly turnId: string | null;
  readonly decision: Decision | null;
}

/** Who answered what, when, and by which way. */
export interface Decision {
  readonly held: boolean;
  readonly status: string;
  readonly payload: unknown;
  readonly by: string | null;
  readonly at: string | null;
  readonly channel: string | null;
}

/** Something recorded in the journal of the present turn. */
export interface JournalEntry {
  readonly place: string;
  readonly kind: string;
  readonly name: string;
  readonly status: string;
  readonly data: unknown;
}

/** A thread with everything that happened in it. */
export interface ThreadRecord {
  readonly row: ThreadRow;
  readonly runs: readonly RunRecord[];
  readonly messages: readonly Message[];
  readonly questions: readonly QuestionRecord[];
  readonly next: readonly string[];
  readonly values: unknown;
  readonly journal: readonly JournalEntry[];
  /** The newest turn, from the message that began it to its end. */
  readonly turnId: string | null;
  /** Why the last run failed. */
  readonly problem: { readonly code: string; readonly message: string } | null;
  /** Effects that would run once more if the turn were restarted. */
  readonly repeats: readonly string[];
  readonly forkedFrom: string | null;
  readonly hold: Hold | null;
}

/** True if a thread stands still until somebody answers: only then it can be changed. */
export function isWaiting({ row }: ThreadRecord): boolean {
  return row.status === "suspended" && !row.running;
}

export function readRow(value: Record<string, unknown>): ThreadRow {
  return {
    threadId: String(value.threadId),
    agent: textOrNull(value.agent) ?? "",
    status: textOrNull(value.status) ?? "unknown",
    running: value.running === true,
    outcome: textOrNull(value.outcome),
    open: typeof value.openInterrupts === "number" ? value.openInterrupts : 0,
    updatedAt: textOrNull(value.updatedAt),
    onHold: value.onHold === true || isRecord(value.hold),
  };
}

/** Puts history and state, as the server gives them, together. */
export function readThread(
  runs: readonly Record<string, unknown>[],
  history: Record<string, unknown>,
  state: Record<string, unknown>,
): ThreadRecord {
  const metadata = isRecord(state.metadata) ? state.metadata : {};
  const { problem, forkedFrom, hold } = metadata;
  return {
    row: readRow({ threadId: state.threadId, ...metadata }),
    runs: runs.map(readRun),
    messages: recordsOf(history.messages).filter(isMessage),
    questions: recordsOf(history.interrupts).flatMap(readQuestion),
    next: Array.isArray(state.next) ? state.next.map(String) : [],
    values: state.values,
    journal: recordsOf(state.journal).map((record) => ({
      place: String(record.place),
      kind: String(record.kind),
      name: String(record.name),
      status: String(record.status),
      data: record.data,
    })),
    turnId: textOrNull(metadata.turnId),
    problem: isRecord(problem)
      ? { code: textOrNull(problem.code) ?? "", message: textOrNull(problem.message) ?? "" }
      : null,
    repeats: Array.isArray(metadata.repeats) ? metadata.repeats.map(String) : [],
    forkedFrom: isRecord(forkedFrom) ? textOrNull(forkedFrom.threadId) : null,
    hold: isRecord(hold)
      ? {
          by: textOrNull(hold.by) ?? "",
          reason: textOrNull(hold.reason) ?? "",
          at: textOrNull(hold.at),
        }
      : null,
  };
}

function readRun(value: Record<string, unknown>): RunRecord {
  const outcome = isRecord(value.outcome) ? value.outcome : {};
  return {
    runId: String(value.runId),
    startedAt: textOrNull(value.startedAt),
    endedAt: textOrNull(value.endedAt),
    outcome: textOrNull(outcome.type),
    message: textOrNull(outcome.message),
  };
}

function readQuestion(value: Record<string, unknown>): QuestionRecord[] {
  const [id, reason] = [textOrNull(value.id), textOrNull(value.reason)];
  if (id === null || reason === null) return [];
  const [message, toolCallId] = [textOrNull(value.message), textOrNull(value.toolCallId)];
  const [expiresAt, by] = [textOrNull(value.expiresAt), textOrNull(value.subagentRunId)];
  const interrupt: Interrupt = {
    id,
    reason,
    ...(message !== null && { message }),
    ...(toolCallId !== null && { toolCallId }),
    ...(expiresAt !== null && { expiresAt }),
    ...(by !== null && { subagentRunId: by }),
    ...(isRecord(value.responseSchema) && { responseSchema: value.responseSchema }),
    ...(isRecord(value.metadata) && { metadata: value.metadata }),
  };
  const answer = isRecord(value.answer) ? value.answer : null;
  const decision: Decision | null =
    answer === null
      ? null
      : {
          held: answer.held === true,
          status: textOrNull(answer.status) ?? "resolved",
          payload: answer.payload,
          by: textOrNull(answer.by),
          at: textOrNull(answer.at),
          channel: textOrNull(answer.channel),
        };
  const status = textOrNull(value.status) ?? "open";
  const [createdAt, turnId] = [textOrNull(value.createdAt), textOrNull(value.turnId)];
  return [{ interrupt, createdAt, status, turnId, decision }];
}

function isMessage(value: Record<string, unknown>): value is Record<string, unknown> & Message {
  return typeof value.id === "string" && typeof value.role === "string";
}
