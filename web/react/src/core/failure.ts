import type { RunErrorEvent } from "@ag-ui/client";
import { LASTING, STALE } from "./codes.js";
import { asRecord, asText, mapOf, parseJson } from "./json.js";
import { SilentBody } from "./silence.js";
import type { Failure, Problem, SettledBy } from "./types.js";

/** A `RUN_ERROR` event as a failure, with the server's details from `metadata.sayso`. */
export function failureFromEvent(event: RunErrorEvent): Failure {
  const details = asRecord(asRecord(event.metadata)?.sayso);
  const code = asText(details?.code) ?? event.code ?? null;
  return {
    kind: kindOf(details, code),
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
  if (error instanceof SilentBody) return plain("silent", message);
  if (isNetworkError(error)) {
    return plain("network", "The server could not be reached.");
  }
  return plain("protocol", `The answer of the server is not valid: ${message}`);
}

/** The run's body ended without a terminal event: success must not be inferred (LC-16). */
export function truncated(eventsSeen: number): Failure {
  return eventsSeen === 0
    ? plain("protocol", "The server answered, but not as an agent.")
    : plain("truncated", "The connection ended before the agent was done.");
}

/** What was to be sent is no JSON, as a payload of an own card may be; nothing was sent. */
export function unwritable(error: unknown): Failure {
  const message = error instanceof Error ? error.message : String(error);
  return plain("protocol", `This cannot be written as JSON: ${message}`);
}

/** Nothing came back in time; the request was given up, not cancelled. */
export function timedOut(milliseconds: number): Failure {
  return plain("timeout", `No answer within ${Math.round(milliseconds / 1000)} seconds.`);
}

/** True if only the server can say what is still open after this failure. */
export function needsRefresh(failure: Failure): boolean {
  return (
    failure.kind === "truncated" ||
    failure.kind === "silent" ||
    failure.kind === "agent" ||
    (failure.code !== null && STALE.has(failure.code))
  );
}

/** True if the server may simply be away, so that trying again by itself makes sense. */
export function isTransient(failure: Failure): boolean {
  return (
    failure.kind === "network" ||
    failure.kind === "timeout" ||
    failure.kind === "truncated" ||
    failure.kind === "silent" ||
    (failure.kind === "http" && [502, 503, 504].includes(failure.httpStatus ?? 0))
  );
}

/** Of the statuses that refuse a request, those of a moment, and of somebody who can sign in. */
const PASSING: ReadonlySet<number> = new Set([401, 408, 409, 425, 429]);

/**
 * True if sending the same again can help: not where the server refuses it for what it is (too
 * large), for whose it is (no approver), or for what became of its question.
 */
export function canRetry(failure: Pick<Failure, "code" | "httpStatus">): boolean {
  const { code, httpStatus = 0 } = failure;
  if (code !== null && LASTING.has(code)) return false;
  return httpStatus < 400 || httpStatus >= 500 || PASSING.has(httpStatus);
}

/** True if the server has no such path: a server of others cannot be asked for a thread. */
export function isNotServed({ httpStatus }: Failure): boolean {
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
    ...(typeof problem?.retryAfter === "number" && { retryAfter: problem.retryAfter }),
    ...readDetails(problem),
  };
}

function readDetails(details: Readonly<Record<string, unknown>> | undefined) {
  const problems = mapOf<readonly Problem[]>();
  const named = mapOf<SettledBy>();
  const list = details?.interrupts;
  for (const item of Array.isArray(list) ? list : []) {
    const entry = asRecord(item);
    const id = asText(entry?.interruptId);
    if (entry === undefined || id === undefined) continue;
    const by = asText(entry.by);
    const at = asText(entry.at);
    named[id] = { ...(by !== undefined && { by }), ...(at !== undefined && { at }) };
    const readProblem = readProblems(entry.problems);
    if (readProblem.length > 0) problems[id] = readProblem;
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

/**
 * A refusal changed nothing and says so itself: some codes are those of runs that began as well. A
 * sign-in that ended cut the connection off, and the run continues.
 */
function kindOf(
  ours: Readonly<Record<string, unknown>> | undefined,
  code: string | null,
): Failure["kind"] {
  if (ours?.refused === true) return "refused";
  return code === "token_expired" ? "truncated" : "agent";
}

function plain(kind: Failure["kind"], message: string): Failure {
  return { kind, message, code: null, problems: mapOf(), named: mapOf() };
}

/** Browsers and Node spell a broken connection differently; all of them use these words. */
function isNetworkError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const words = `${error.name} ${error.message}`;
  if (/^(AbortError|NetworkError)/.test(words)) return true;
  return error instanceof TypeError && /fetch|network|terminated|load failed|conn/i.test(words);
}

/**
 * Reads a problem beside an outcome, from `metadata.sayso.problem`: in `recover` mode about a
 * refused resume, in a look about the run that failed last.
 */
export function failureFromMetadata(metadata: unknown): Failure | null {
  const ours = asRecord(asRecord(metadata)?.sayso);
  const problem = asRecord(ours?.problem);
  const message = asText(problem?.message) ?? asText(problem?.detail);
  if (message === undefined) return null;
  const code = asText(problem?.code) ?? null;
  return { kind: kindOf(ours, code), message, code, ...readDetails(problem) };
}
