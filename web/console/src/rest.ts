import type { Problem } from "@sayso/react";
import { canRetry, failureText, parseJson, writeJson } from "@sayso/react/core";
import { serverFetch } from "./access.js";
import { serverUrl } from "./base.js";
import { inTime } from "./inTime.js";

/** How long a request of a page may take, its body included (ms). */
const PATIENCE_MS = 60_000;

const UNANSWERED = "No answer came; it may have been done. Look before you try again.";

/** A failed request: a text for people, and what the server said about it. */
export class ServerError extends Error {
  constructor(
    message: string,
    /** The HTTP status; null when the server could not be reached. */
    readonly status: number | null,
    readonly code: string | null,
    options?: ErrorOptions,
    /** Complaints about members of what was sent, as far as the server said. */
    readonly problems: readonly Problem[] = [],
  ) {
    super(message, options);
    this.name = "ServerError";
  }
}

/**
 * Asks the server for something below its root, and gives up after a minute unless it `takesLong`.
 * Rejects with a `ServerError`, or when aborted.
 */
export async function request(
  path: string,
  options: {
    readonly method?: string;
    readonly body?: unknown;
    readonly signal?: AbortSignal;
    readonly takesLong?: boolean;
  } = {},
): Promise<unknown> {
  const { method = "GET", body, signal, takesLong = false } = options;
  let response: Response;
  let text: string;
  try {
    [response, text] = await inTime(
      takesLong ? null : PATIENCE_MS,
      async (ends) => {
        const answer = await serverFetch(serverUrl(path), {
          method,
          headers: {
            accept: "application/json",
            ...(body !== undefined && { "content-type": "application/json" }),
          },
          ...(body !== undefined && { body: writeJson(body) }),
          signal: ends,
        });
        return [answer, await answer.text()] as const;
      },
      signal,
    );
  } catch (error) {
    if (signal?.aborted === true) throw error;
    const wasCut = error instanceof DOMException && error.name === "AbortError";
    const message = wasCut && method !== "GET" ? UNANSWERED : "The server cannot be reached.";
    throw new ServerError(message, null, null, { cause: error });
  }
  const said = parseJson(text);
  if (response.ok) return said;
  const problem = isRecord(said) ? said : {};
  const detail = typeof problem.detail === "string" ? problem.detail : null;
  const code = typeof problem.code === "string" ? problem.code : null;
  const plain =
    response.status === 401
      ? "Sign in to continue."
      : `The server could not do this (HTTP ${response.status}).`;
  const problems = recordsOf(problem.errors).map(({ pointer, message }) => ({
    pointer: textOrNull(pointer) ?? "",
    message: textOrNull(message) ?? "is not accepted",
  }));
  const message = detail ?? plain;
  // Where single members are wrong, the server says of what.
  const words = problems.length > 0 ? message : failureText({ code, message });
  throw new ServerError(words, response.status, code, undefined, problems);
}

/** True if the server does not know who is asking. */
export function isDenied(error: unknown): error is ServerError {
  return error instanceof ServerError && error.status === 401;
}

/** True if the same request could come to more, without another one to ask for it. */
export function canTryAgain(error: unknown): boolean {
  if (!(error instanceof ServerError)) return true;
  const { code, status } = error;
  return canRetry({ code, ...(status !== null && { httpStatus: status }) });
}

/** True if a value is an object with members. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The objects of a list; anything else in it is passed over. */
export function recordsOf(value: unknown): readonly Record<string, unknown>[] {
  return Array.isArray(value) ? (value as unknown[]).filter(isRecord) : [];
}

/** A text, or null. */
export function textOrNull(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
