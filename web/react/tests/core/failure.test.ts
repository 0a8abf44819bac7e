import { EventType, type RunErrorEvent } from "@ag-ui/client";
import { describe, expect, it } from "vitest";
import codes from "../codes.json" with { type: "json" };
import {
  canRetry,
  failureFromEvent,
  failureFromHttp,
  failureFromRejection,
  isTransient,
  needsRefresh,
} from "../../src/core/failure.js";
import { failureText } from "../../src/core/failureText.js";

const event = (more: Partial<RunErrorEvent>): RunErrorEvent => ({
  type: EventType.RUN_ERROR,
  message: "no",
  ...more,
});

describe("a RUN_ERROR", () => {
  it("[ER-04] carries code, complaints and who settled it from metadata.sayso", () => {
    const failure = failureFromEvent(
      event({
        metadata: {
          sayso: {
            code: "already_resolved",
            refused: true,
            interrupts: [
              { interruptId: "a", by: "kim", at: "2026-01-01T00:00:00Z" },
              { interruptId: "b", problems: [{ pointer: "/x", message: "bad" }, { pointer: 1 }] },
              { nonsense: true },
            ],
          },
        },
      }),
    );
    expect(failure).toEqual({
      kind: "refused",
      message: "no",
      code: "already_resolved",
      problems: { b: [{ pointer: "/x", message: "bad" }] },
      named: { a: { by: "kim", at: "2026-01-01T00:00:00Z" }, b: {} },
    });
  });

  it.each(codes.refusals)(
    "of every refusal of the server is a refusal: $event.code",
    ({ event: { type, ...said }, stale, lasting }) => {
      const failure = failureFromEvent(event(said));
      expect(failure).toMatchObject({ kind: "refused", code: said.code });
      expect(needsRefresh(failure)).toBe(stale);
      expect(canRetry(failure)).toBe(!lasting);
      expect(type).toBe("RUN_ERROR");
    },
  );

  it("of a sign-in that ended is a connection that was cut: the run continues", () => {
    const failure = failureFromEvent(event({ code: "token_expired" }));
    expect(failure.kind).toBe("truncated");
    expect(isTransient(failure)).toBe(true);
    expect(failureText(failure)).toBe("Your sign-in has ended. Sign in to continue.");
  });

  it.each(codes.endings.filter(({ event: { code } }) => code !== "token_expired"))(
    "of a run that began is none, though a refusal has the same code: $event.code",
    ({ event: { type, ...said } }) => {
      const failure = failureFromEvent(event(said));
      expect(type).toBe("RUN_ERROR");
      expect(failure).toMatchObject({ kind: "agent", code: said.code });
      expect(needsRefresh(failure)).toBe(true);
    },
  );

  it.each([undefined, { sayso: null }, { sayso: "x" }, { sayso: { interrupts: 7 } }])(
    "survives metadata of any form: %j",
    (metadata) => {
      const failure = failureFromEvent(event({ metadata: metadata as never, code: "boom" }));
      expect(failure).toMatchObject({ kind: "agent", code: "boom", problems: {}, named: {} });
    },
  );
});

describe("a rejection", () => {
  it("[ER-08] of an HTTP error reads the problem, also from a body that came as text", () => {
    const problem = { title: "Busy", detail: "The thread is busy.", code: "thread_busy" };
    for (const payload of [problem, JSON.stringify(problem)]) {
      const error = Object.assign(new Error("HTTP 409"), { status: 409, payload });
      expect(failureFromRejection(error)).toMatchObject({
        kind: "http",
        httpStatus: 409,
        code: "thread_busy",
        message: "The thread is busy.",
      });
    }
  });

  it.each(codes.problems)("of every problem has its code: $body.code", (problem) => {
    const { body, status, lasting } = problem;
    const failure = failureFromHttp(status, body);
    expect(failure).toMatchObject({ kind: "http", code: body.code, httpStatus: status });
    if (lasting) expect(canRetry(failure)).toBe(false);
  });

  it("of a limit that is reached says when to try again", () => {
    const problem = { code: "too_many", detail: "Later.", limit: "runs", max: 2, retryAfter: 7 };
    const failure = failureFromHttp(429, problem);
    expect(failure).toMatchObject({ message: "Later.", retryAfter: 7 });
    expect(canRetry(failure)).toBe(true);
    expect(failureFromHttp(429, { ...problem, retryAfter: "7" })).not.toHaveProperty("retryAfter");
  });

  it("of an HTTP error without a problem names the status", () => {
    const error = Object.assign(new Error("HTTP 502"), { status: 502, payload: "<html>" });
    const failure = failureFromRejection(error);
    expect(failure.message).toContain("502");
    expect(isTransient(failure)).toBe(true);
  });

  it.each(["Failed to fetch", "NetworkError when attempting", "Load failed", "terminated"])(
    "of a broken connection is told apart: %s",
    (message) => {
      expect(failureFromRejection(new TypeError(message)).kind).toBe("network");
    },
  );

  it("of anything else is a stream that broke the protocol (LC-13)", () => {
    expect(failureFromRejection(new Error("First event must be 'RUN_STARTED'")).kind).toBe(
      "protocol",
    );
  });
});

describe("a failure for people", () => {
  it("is a sentence for its code, without what the server says to developers", () => {
    const detail = "There is no such thread: GET /threads lists yours.";
    const failure = failureFromHttp(404, { code: "unknown_thread", detail });
    expect(failureText(failure)).toBe("This conversation does not exist, or it is not yours.");
  });

  it("says who was faster, by name or as the one reader of a server that knows nobody", () => {
    const interrupts = (by?: string) => [{ interruptId: "a", ...(by !== undefined && { by }) }];
    const taken = (by?: string) =>
      failureText(failureFromHttp(409, { code: "already_resolved", interrupts: interrupts(by) }));
    expect(taken("lea")).toBe("That was already decided by lea, so your answer was not used.");
    expect(taken("local")).toBe("That was already decided by you, so your answer was not used.");
    expect(taken()).toBe("That was already decided, so your answer was not used.");
  });

  it("is the server's own text where no sentence is known for its code", () => {
    const failure = failureFromHttp(500, { code: "shop:closed", detail: "We are closed." });
    expect(failureText(failure)).toBe("We are closed.");
    expect(failureText(failureFromRejection(new TypeError("Failed to fetch")))).toBe(
      "The server could not be reached.",
    );
  });
});
