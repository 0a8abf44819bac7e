import type { Interrupt } from "@ag-ui/client";
import { render, screen, waitFor } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { InterruptCard, momentText, outcomeOf } from "../../src/components/index.js";
import { callAbout, subjectOf, unclearOf, type InterruptView } from "../../src/core/index.js";

const STARTED = "2026-05-01T10:00:00.000Z";

/** A question about an effect that may have happened, as a Sayso server asks it. */
function unclear(
  result: Record<string, unknown>,
  details: Record<string, unknown> = {},
): Interrupt {
  const option = (value: string, title: string, description: string) => ({
    const: value,
    title,
    description,
  });
  const required = result.type === "null" ? {} : { then: { required: ["result"] } };
  return {
    id: "a",
    reason: "sayso:indeterminate",
    message: "Step 'charge' was running when the server stopped. Look at the bank.",
    metadata: {
      sayso: {
        kind: "indeterminate",
        name: "charge",
        arguments: { order: "A-17" },
        look: "Look at the bank.",
        startedAt: STARTED,
        key: "key_1",
        ...details,
      },
    },
    responseSchema: {
      type: "object",
      properties: {
        action: {
          oneOf: [
            option("run_again", "Run it again", "It did not happen."),
            option("skip", "It happened", "Continue with the result."),
            option("stop", "Stop", "End the turn here."),
          ],
        },
        result: { ...result, title: "Result to continue with", description: "For developers." },
      },
      required: ["action"],
      additionalProperties: false,
      if: { properties: { action: { const: "skip" } } },
      ...required,
    },
  };
}

function show(interrupt: Interrupt, more: Partial<InterruptView> = {}) {
  const onAnswer = vi.fn();
  const view = { interrupt, phase: "open", answer: null, problems: [], closed: null, asked: 1 };
  const card = (
    <InterruptCard
      view={{ ...view, ...more } as InterruptView}
      call={callAbout(interrupt, [])}
      clock={() => 0}
      onAnswer={onAnswer}
      onWithdraw={() => undefined}
    />
  );
  render(card);
  return onAnswer;
}

const press = (name: string) => userEvent.click(screen.getByRole("button", { name }));
const choose = (name: RegExp) => userEvent.click(screen.getByRole("radio", { name }));
const NULLABLE = { anyOf: [{ type: "string" }, { type: "null" }] };

beforeAll(async () => {
  await import("../../src/components/form/RjsfForm.js");
});

describe("the card of an effect that may have happened", () => {
  it("says what was called with what, since when, where to look, and under which key", async () => {
    const user = userEvent.setup();
    show(unclear({ type: "string" }));
    expect(screen.getByRole("heading")).toHaveTextContent("Unclear outcome charge");
    expect(screen.getByLabelText("Arguments of charge")).toHaveTextContent("A-17");
    const moment = screen.getByText(momentText(Date.parse(STARTED)));
    expect(moment).toHaveAttribute("datetime", STARTED);
    expect(screen.getAllByText("Look at the bank.")).toHaveLength(1);
    expect(screen.getByText("Continue with the result.")).toBeVisible();
    const copied = vi.spyOn(navigator.clipboard, "writeText").mockResolvedValue();
    await user.click(screen.getByRole("button", { name: "Copy the call key" }));
    expect(copied).toHaveBeenCalledExactlyOnceWith("key_1");
    expect(await screen.findByText("Copied")).toBeVisible();
  });

  it("tells what was really called with, where it was edited since it was announced", () => {
    const interrupt = { ...unclear({ type: "string" }), toolCallId: "c" };
    const announced = { id: "c", type: "function", function: { name: "charge", arguments: "{}" } };
    const messages = [{ id: "m", role: "assistant", toolCalls: [announced] }];
    expect(callAbout(interrupt, messages as never)?.args).toEqual({ order: "A-17" });
    expect(subjectOf(interrupt, null)).toBe("charge");
  });

  it("tells what will run where a call was edited before another rule asks about it", () => {
    const sayso = { tool: "pay", arguments: { amount: 999 }, rule: "big" };
    const interrupt = { id: "i", reason: "tool_call", toolCallId: "c", metadata: { sayso } };
    const call = { name: "pay", arguments: '{"amount":5}' };
    const announced = { id: "c", type: "function", function: call };
    const messages = [{ id: "m", role: "assistant", toolCalls: [announced] }];
    expect(callAbout(interrupt, messages as never)).toMatchObject({
      args: { amount: 999 },
      text: '{"amount":999}',
    });
  });

  it("asks for a result only where it is skipped, and then at once", async () => {
    const onAnswer = show(unclear({ type: "string" }));
    await choose(/Run it again/);
    expect(screen.queryByRole("button", { name: "Add details" })).toBeNull();
    await choose(/It happened/);
    const field = await screen.findByRole("textbox", { name: /Result/ });
    expect(screen.queryByText("For developers.")).toBeNull();
    expect(screen.queryByLabelText("There is no result")).toBeNull();
    await userEvent.type(field, "paid");
    await press("It happened");
    await waitFor(() => {
      expect(onAnswer).toHaveBeenCalledWith({
        status: "resolved",
        payload: { action: "skip", result: "paid" },
      });
    });
  });

  it("has it said that there is no result", async () => {
    const onAnswer = show(unclear(NULLABLE));
    await choose(/It happened/);
    await screen.findByRole("textbox", { name: /Result/ });
    await userEvent.click(screen.getByLabelText("There is no result"));
    await press("It happened");
    expect(onAnswer).toHaveBeenCalledExactlyOnceWith({
      status: "resolved",
      payload: { action: "skip", result: null },
    });
  });

  it("asks for none where there cannot be any", async () => {
    const onAnswer = show(unclear({ type: "null" }));
    await choose(/It happened/);
    expect(screen.queryByRole("button", { name: "Add details" })).toBeNull();
    await press("It happened");
    const payload = { action: "skip" };
    expect(onAnswer).toHaveBeenCalledExactlyOnceWith({ status: "resolved", payload });
  });

  it("says afterwards with which result it went on", () => {
    const interrupt = unclear(NULLABLE);
    const details = (result: unknown) => {
      const answer = { status: "resolved", payload: { action: "skip", result } } as const;
      const closed = { interrupt, ending: "answered", answer, closedAt: 0 } as const;
      const view = { interrupt, phase: "closed", answer, problems: [], closed, asked: 1 } as const;
      return outcomeOf(view)?.detail;
    };
    expect(details("paid")).toMatch(/^by you · result: paid · /);
    expect(details(null)).toMatch(/^by you · no result · /);
  });

  it("is drawn as any other where a server says less", () => {
    expect(unclearOf({ id: "a", reason: "sayso:indeterminate" })).toBeNull();
    const before = unclear({}, { arguments: undefined, look: undefined, startedAt: undefined });
    show(before);
    expect(screen.queryByText("Started")).toBeNull();
    expect(screen.queryByText("Where to look")).toBeNull();
    expect(screen.getByText("key_1")).toBeVisible();
  });
});
