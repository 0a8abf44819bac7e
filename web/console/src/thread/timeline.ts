import { outcomeOf } from "@sayso/react/components";
import { callAbout } from "@sayso/react/core";
import type { Answer, InterruptView } from "@sayso/react";
import type { QuestionRecord, RunRecord, ThreadRecord } from "./records.js";

/** One thing that happened, with its time; null when the server does not tell it. */
export type TimelineEvent =
  | {
      readonly kind: "began";
      readonly key: string;
      readonly at: string | null;
      readonly run: RunRecord;
    }
  | {
      readonly kind: "ended";
      readonly key: string;
      readonly at: string | null;
      readonly run: RunRecord;
    }
  | {
      readonly kind: "asked";
      readonly key: string;
      readonly at: string | null;
      readonly question: QuestionRecord;
    }
  | {
      readonly kind: "decided";
      readonly key: string;
      readonly at: string | null;
      readonly question: QuestionRecord;
    };

/**
 * Runs, questions and decisions in the order in which they happened. Much of it happens within one
 * millisecond: then a run begins, asks and ends, is answered, and the next one begins.
 */
export function timelineOf({ runs, questions }: ThreadRecord): readonly TimelineEvent[] {
  const list: { readonly event: TimelineEvent; readonly time: number; readonly turn: number }[] =
    [];
  const starts = runs.map((run) => timeOf(run.startedAt));
  const add = (event: TimelineEvent, turn: number) => {
    list.push({ event, time: timeOf(event.at), turn });
  };
  runs.forEach((run, index) => {
    add({ kind: "began", key: `began:${run.runId}`, at: run.startedAt, run }, 4 * index + 1);
    if (run.endedAt === null) return;
    add({ kind: "ended", key: `ended:${run.runId}`, at: run.endedAt, run }, 4 * index + 3);
  });
  for (const question of questions) {
    const { id, expiresAt = null } = question.interrupt;
    const asker = Math.max(
      0,
      runs.findIndex((run) => ranAt(run, question.createdAt)),
    );
    add({ kind: "asked", key: `asked:${id}`, at: question.createdAt, question }, 4 * asker + 2);
    if (question.decision === null && question.status !== "expired") continue;
    const decidedAt = question.decision?.at ?? expiresAt;
    const next = starts.findIndex((start, index) => index > asker && start >= timeOf(decidedAt));
    const turn = next < 0 ? 4 * runs.length : 4 * next;
    add({ kind: "decided", key: `decided:${id}`, at: decidedAt, question }, turn);
  }
  return list.sort((a, b) => a.time - b.time || a.turn - b.turn).map(({ event }) => event);
}

/** A decision in words. */
export function wordsOf({ interrupt, decision, status }: QuestionRecord): {
  readonly title: string;
  readonly detail: string | null;
  readonly tone: string;
} {
  const expired = status === "expired";
  const answer: Answer | null =
    decision === null || expired
      ? null
      : decision.status === "cancelled"
        ? { status: "cancelled" }
        : { status: "resolved", payload: decision.payload };
  const view: InterruptView = {
    interrupt,
    phase: "closed",
    answer,
    problems: [],
    asked: 1,
    closed: { interrupt, ending: expired ? "expired" : "answered", answer, closedAt: 0 },
  };
  return (
    outcomeOf(view, callAbout(interrupt, [])) ?? { title: "Answered", detail: null, tone: "quiet" }
  );
}

function ranAt({ startedAt, endedAt }: RunRecord, at: string | null): boolean {
  return timeOf(startedAt) <= timeOf(at) && timeOf(at) <= timeOf(endedAt);
}

function timeOf(at: string | null): number {
  const time = at === null ? NaN : Date.parse(at);
  return Number.isNaN(time) ? Number.MAX_SAFE_INTEGER : time;
}
