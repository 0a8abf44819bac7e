import type { CallResult } from "./callResult.js";
import type { Interrupt } from "@ag-ui/client";

export type { Interrupt, Message, ResumeEntry } from "@ag-ui/client";

/** A person's word on one interrupt: an answer, or that it will not be answered. */
export type Answer =
  { readonly status: "resolved"; readonly payload?: unknown } | { readonly status: "cancelled" };

/** Answers by interrupt id. */
export type Answers = Readonly<Record<string, Answer>>;

/** One complaint about a payload; `pointer` is a JSON Pointer into it ("" is the whole payload). */
export interface Problem {
  readonly pointer: string;
  readonly message: string;
}

/** Who settled an interrupt before this client did, as far as the server said. */
export interface SettledBy {
  readonly by?: string;
  readonly at?: string;
}

/**
 * Why a run or a submission did not end well.
 *
 * - `refused`: the server's gate said no and changed nothing (`code` says why)
 * - `agent`: the run began and then failed
 * - `http`: a status outside 2xx before any stream
 * - `network`: no answer, or the connection broke
 * - `truncated`: the stream ended without a terminal event, so nobody knows how the run ended
 * - `silent`: the stream went on without a byte for too long, so its connection counts as broken
 * - `timeout`: nothing came back in time
 * - `protocol`: the stream broke the protocol, so it was rejected
 */
export interface Failure {
  readonly kind:
    "refused" | "agent" | "http" | "network" | "truncated" | "silent" | "timeout" | "protocol";
  readonly message: string;
  readonly code: string | null;
  readonly httpStatus?: number;
  /** Seconds after which the server may take it, where it refused that there is too much at once. */
  readonly retryAfter?: number;
  /** Complaints per interrupt id. */
  readonly problems: Readonly<Record<string, readonly Problem[]>>;
  /** Every interrupt id the failure names, with who settled it where that is known. */
  readonly named: Readonly<Record<string, SettledBy>>;
}

/** How an interrupt left the open set. */
export type Ending =
  /** The answer given here was accepted. */
  | "answered"
  /** Somebody else answered, or another tab did. */
  | "answeredElsewhere"
  /** Nobody answered in time and the server went on. */
  | "expired"
  /** The turn was stopped, and its questions were cancelled with it. */
  | "stopped"
  /** The server no longer knows it as open and did not say why. */
  | "superseded";

/** An interrupt that is no longer open, as this client saw it end. */
export interface Closed extends SettledBy {
  readonly interrupt: Interrupt;
  readonly ending: Ending;
  readonly answer: Answer | null;
  readonly closedAt: number;
  /** What came of the call that it was about, where the server says so. */
  readonly result?: CallResult;
}

/** Interrupts that one run asked together; `anchor` is the message they came after. */
export interface Batch {
  readonly id: string;
  readonly anchor: string | null;
  readonly ids: readonly string[];
}

/**
 * The connection of a thread or an inbox to the server.
 *
 * - `loading`: nothing is known yet
 * - `ready`: complete and followed
 * - `lost`: the server is away; the next attempt is at `retryAt` (ms, this machine's clock)
 * - `refused`: the server answers, but does not show this to the caller
 * - `absent`: the server does not serve this at all
 */
export type Connection =
  | { readonly status: "loading" | "ready" | "absent" }
  | { readonly status: "refused"; readonly failure: Failure }
  | { readonly status: "lost"; readonly failure: Failure; readonly retryAt: number };
