import type { Interrupt } from "@ag-ui/client";
import type { Answer, Answers, Batch, Closed, Failure, Problem } from "./types.js";

/**
 * Where a thread stands with its person.
 *
 * - `idle`: nothing open, nothing running
 * - `running`: a run is going on (also a resumed one, once the server has begun to act on it)
 * - `awaiting`: questions are open
 * - `submitting`: the answers are on their way and nothing came back yet
 * - `failed`: the last run or submission failed; open questions and answers are kept
 * - `expired`: an open question can no longer be answered, only cancelled
 * - `stale`: what was open here has been settled without us
 */
export type Status =
  "idle" | "running" | "awaiting" | "submitting" | "failed" | "expired" | "stale";

/** What the machine knows. Immutable: every action makes a new value or returns the same one. */
export interface MachineState {
  readonly threadId: string;
  readonly status: Status;
  /** The open interrupts, in the order in which they were asked. */
  readonly interrupts: readonly Interrupt[];
  readonly answers: Answers;
  readonly errors: Readonly<Record<string, readonly Problem[]>>;
  /** Ids of open interrupts past answering. */
  readonly expired: readonly string[];
  readonly failure: Failure | null;
  readonly closed: readonly Closed[];
  readonly batches: readonly Batch[];
  /** How often an id was asked; a form starts afresh when this grows (CL-08). */
  readonly asked: Readonly<Record<string, number>>;
  /** The answers as last sent, until they are changed or refused. */
  readonly sent: Answers;
  /** Questions whose answers the server has begun to act on, until the run's end is known. */
  readonly inFlight: readonly Interrupt[];
}

/** How a run came about: a message, a submission, or a look at what the server has. */
export type Origin = "run" | "submit" | "sync";

export type Action =
  | { readonly type: "started"; readonly origin: Origin; readonly now: number }
  | { readonly type: "submitted"; readonly now: number }
  | { readonly type: "accepted"; readonly now: number }
  | {
      readonly type: "interrupted";
      readonly origin: Origin;
      readonly interrupts: readonly Interrupt[];
      readonly anchor: string | null;
      /** Why the server asks again instead of going on. */
      readonly problem: Failure | null;
      readonly now: number;
    }
  | {
      readonly type: "finished";
      readonly origin: Origin;
      /** The turn ended because it was stopped. */
      readonly cancelled?: boolean;
      /** Why the thread's last run failed, where a look was told. */
      readonly problem?: Failure | null;
      readonly now: number;
    }
  | {
      readonly type: "failed";
      readonly origin: Origin;
      readonly failure: Failure;
      readonly now: number;
    }
  | { readonly type: "abandoned" }
  | {
      readonly type: "answered";
      readonly id: string;
      readonly answer: Answer;
      readonly now: number;
    }
  | { readonly type: "objected"; readonly id: string; readonly problems: readonly Problem[] }
  | { readonly type: "withdrawn"; readonly id: string; readonly now: number }
  /** Answers that were given before a reload; they are offered again, not sent. */
  | { readonly type: "recalled"; readonly answers: Answers; readonly now: number }
  /** The server said how a question ended that was gone when we looked. */
  | { readonly type: "told"; readonly closed: Closed }
  | { readonly type: "ticked"; readonly now: number }
  | { readonly type: "dismissed" }
  | { readonly type: "reset"; readonly threadId: string };

/** A thread of which nothing is known yet. */
export function initialState(threadId: string): MachineState {
  return {
    threadId,
    status: "idle",
    interrupts: [],
    answers: {},
    errors: {},
    expired: [],
    failure: null,
    closed: [],
    batches: [],
    asked: {},
    sent: {},
    inFlight: [],
  };
}
