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

  it.each(codes.endings)(
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
