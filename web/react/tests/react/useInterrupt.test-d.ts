import type { Interrupt, RunAgentResult } from "@ag-ui/client";
import type { ReactElement } from "react";
import { expectTypeOf, test } from "vitest";
import { useInterrupt, useInterrupts } from "../../src/index.js";
import type { Answer, UseInterruptReturn } from "../../src/index.js";

declare const element: ReactElement;

test("what the handler returns is what render gets, awaited and nullable", () => {
  useInterrupt({
    handler: () => Promise.resolve({ rows: [1] }),
    render: ({ result }) => {
      expectTypeOf(result).toEqualTypeOf<{ rows: number[] } | null>();
      return element;
    },
  });
});

test("render gets what the hook of CopilotKit gives, and more", () => {
  useInterrupt({
    render: ({ interrupt, interrupts, event, resolve, cancel, answers }) => {
      expectTypeOf(interrupt).toEqualTypeOf<Interrupt>();
      expectTypeOf(interrupts).toEqualTypeOf<readonly Interrupt[]>();
      expectTypeOf(event.name).toEqualTypeOf<string>();
      expectTypeOf(resolve).toBeCallableWith({ approved: true }, "id");
      expectTypeOf(resolve()).toEqualTypeOf<Promise<RunAgentResult | undefined>>();
      expectTypeOf(cancel).toBeCallableWith();
      expectTypeOf(answers).toEqualTypeOf<Readonly<Record<string, Answer>>>();
      return element;
    },
  });
});

test("the element comes back only when it is placed by hand", () => {
  const render = () => element;
  expectTypeOf(useInterrupt({ render, renderInChat: false })).toEqualTypeOf<ReactElement | null>();
  expectTypeOf<UseInterruptReturn<undefined>>().toEqualTypeOf<undefined>();
  expectTypeOf<UseInterruptReturn<true>>().toEqualTypeOf<undefined>();
});

test("an answer is resolved with a payload or cancelled without", () => {
  expectTypeOf<{ status: "resolved"; payload: number }>().toExtend<Answer>();
  expectTypeOf<{ status: "cancelled" }>().toExtend<Answer>();
  expectTypeOf<{ status: "denied" }>().not.toExtend<Answer>();
});

test("status is a closed union", () => {
  const { status } = useInterrupts();
  expectTypeOf(status).toEqualTypeOf<
    "idle" | "running" | "awaiting" | "submitting" | "failed" | "expired" | "stale"
  >();
});
