import { subagentPath } from "@sayso/react/core";
import { isRecord, textOrNull } from "../rest.js";
import { subagentLabels, type SubagentLabels } from "../subagents.js";
import type { ThreadRecord } from "./records.js";

/** A subagent's invocation in a stored thread. */
export interface Invocation {
  readonly id: string;
  /** How many of its questions are open. */
  readonly open: number;
  /** How many of its questions are settled. */
  readonly settled: number;
}

/** Those that a thread tells of, in order: by the journal of its turn, by questions, by messages. */
export function invocationsOf(thread: ThreadRecord): readonly Invocation[] {
  return invocations(thread).map(({ id }) => {
    const own = thread.questions.filter(({ interrupt }) => interrupt.subagentRunId === id);
    const open = own.filter(({ status }) => status === "open").length;
    return { id, open, settled: own.length - open };
  });
}

/** The labels of the subagents of a stored thread. */
export function threadSubagentLabels(thread: ThreadRecord): SubagentLabels {
  return subagentLabels(invocations(thread));
}

function invocations({ journal, questions, messages }: ThreadRecord) {
  const names = new Map<string, string | null>();
  const add = (id: string | null, name: string | null) => {
    if (id !== null && (names.get(id) ?? null) === null) names.set(id, name);
  };
  for (const { kind, name, data } of journal) {
    if (kind === "delegate" && isRecord(data)) add(textOrNull(data.id), name);
  }
  for (const { interrupt } of questions) {
    add(interrupt.subagentRunId ?? null, subagentPath(interrupt).at(-1) ?? null);
  }
  for (const message of messages) {
    if ("subagentRunId" in message) add(message.subagentRunId ?? null, null);
  }
  return [...names].map(([id, name]) => ({ id, name, description: null }));
}
