import type { RunErrorEvent } from "@ag-ui/client";
import { asRecord, asText, parseJson } from "./json.js";
import type { Failure, Problem, SettledBy } from "./types.js";

/** Codes with which a Sayso server refuses a request, having changed nothing (design 4). */
const REFUSALS: ReadonlySet<string> = new Set([
  "interrupts_pending",
  "partial_resume",
  "unknown_interrupt",
  "duplicate_entry",
  "invalid_payload",
  "interrupt_expired",
  "already_resolved",
  "thread_busy",
  "wrong_agent",
  "unknown_thread",
  "thread_too_large",
]);

/** Codes after which only the server knows what is open, so a client has to look again. */
const OUT_OF_DATE: ReadonlySet<string> = new Set([
  "already_resolved",
  "interrupt_expired",
  "unknown_interrupt",
  "partial_resume",
  "interrupts_pending",
  "thread_busy",
]);

/** A `RUN_ERROR` event as a failure, with the server's details from `metadata.sayso`. */
export function failureFromEvent(event: RunErrorEvent): Failure {
  const details = asRecord(asRecord(event.metadata)?.sayso);
  const code = asText(details?.code) ?? event.code ?? null;
  return {
    kind: code !== null && REFUSALS.has(code) ? "refused" : "agent",
    message: event.message,
    code,
    ...readDetails(details),
  };
}

/**
 * A rejected run as a failure: HTTP errors carry `status` and `payload` (ER-08), a browser's broken
 * connection is a `TypeError`, everything else means that the stream was not a legal one.
 */
export function failureFromRejection(error: unknown): Failure {
  const status = asRecord(error)?.status;
  if (typeof status === "number") return failureFromHttp(status, asRecord(error)?.payload);
  const message = error instanceof Error ? error.message : String(error);
  if (isNetworkError(error)) {
    return plain("network", "The server could not be reached, or the connection broke.");
  }
  return plain("protocol", `The server's stream was rejected: ${message}`);
}

/** The run's body ended without a terminal event: success must not be inferred (LC-16). */
export function truncated(eventsSeen: number): Failure {
  return eventsSeen === 0
    ? plain("protocol", "The server answered, but not with an event stream.")
    : plain("truncated", "The stream ended before the run did.");
}

/** Nothing came back in time; the request was given up, not cancelled. */
export function timedOut(milliseconds: number): Failure {
  return plain("timeout", `No answer within ${Math.round(milliseconds / 1000)} seconds.`);
}

/** Whether only the server can say what is still open after this failure. */
export function needsLook(failure: Failure): boolean {
  return (
    failure.kind === "truncated" ||
    failure.kind === "agent" ||
    (failure.code !== null && OUT_OF_DATE.has(failure.code))
  );
}

/** Whether the server may simply be away, so that trying again by itself makes sense. */
export function mayPass(failure: Failure): boolean {
  return (
    failure.kind === "network" ||
    failure.kind === "timeout" ||
    failure.kind === "truncated" ||
    (failure.kind === "http" && [502, 503, 504].includes(failure.httpStatus ?? 0))
  );
}

/** Whether the server has no such path: one that is not ours has no way to look at a thread. */
export function isAbsent({ httpStatus }: Failure): boolean {
  return httpStatus === 404 || httpStatus === 405 || httpStatus === 501;
}

/** An HTTP error as a failure; `payload` is the problem (RFC 9457), as text or parsed. */
export function failureFromHttp(status: number, payload: unknown): Failure {
  const problem = asRecord(typeof payload === "string" ? parseJson(payload) : payload);
  const said = asText(problem?.detail) ?? asText(problem?.title);
  return {
    kind: "http",
    message: said ?? `The server refused the request (HTTP ${status}).`,
    code: asText(problem?.code) ?? null,
    httpStatus: status,
    ...readDetails(problem),
  };
}

function readDetails(details: Readonly<Record<string, unknown>> | undefined) {
  const problems: Record<string, readonly Problem[]> = {};
  const named: Record<string, SettledBy> = {};
  const list = details?.interrupts;
  for (const item of Array.isArray(list) ? list : []) {
    const entry = asRecord(item);
    const id = asText(entry?.interruptId);
    if (entry === undefined || id === undefined) continue;
    const by = asText(entry.by);
    const at = asText(entry.at);
    named[id] = { ...(by !== undefined && { by }), ...(at !== undefined && { at }) };
    const found = readProblems(entry.problems);
    if (found.length > 0) problems[id] = found;
  }
  return { problems, named };
}

function readProblems(value: unknown): Problem[] {
  return (Array.isArray(value) ? value : []).flatMap((item) => {
    const entry = asRecord(item);
    const message = asText(entry?.message);
    return message === undefined ? [] : [{ pointer: asText(entry?.pointer) ?? "", message }];
  });
}

function plain(kind: Failure["kind"], message: string): Failure {
  return { kind, message, code: null, problems: {}, named: {} };
}

/** Browsers and Node spell a broken connection differently; all of them use these words. */
function isNetworkError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const words = `${error.name} ${error.message}`;
  if (/^(AbortError|NetworkError)/.test(words)) return true;
  return error instanceof TypeError && /fetch|network|terminated|load failed|conn/i.test(words);
}

/**
 * What a server says beside an outcome, from `metadata.sayso.problem`: in `recover` mode about a
 * refused resume, in a look about the run that failed last.
 */
export function failureFromMetadata(metadata: unknown, kind: Failure["kind"]): Failure | null {
  const problem = asRecord(asRecord(asRecord(metadata)?.sayso)?.problem);
  const message = asText(problem?.message) ?? asText(problem?.detail);
  if (message === undefined) return null;
  const code = asText(problem?.code) ?? null;
  return { kind, message, code, ...readDetails(problem) };
}
