import { cleanup, render, screen } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import type { Interrupt } from "@ag-ui/client";
import { afterEach, expect, it, vi } from "vitest";
import { InterruptCard, FormDraftProvider, sessionFormDrafts } from "../../src/components/index.js";
import type { InterruptView } from "../../src/core/index.js";
import { approval } from "../wire.js";

const view = (interrupt: Interrupt, more: Partial<InterruptView> = {}): InterruptView => ({
  interrupt,
  phase: "open",
  answer: null,
  problems: [],
  closed: null,
  asked: 1,
  ...more,
});

/** A page as it is loaded: whatever was there before is gone. */
function load(interruptView: InterruptView) {
  cleanup();
  const onAnswer = vi.fn();
  const page = (shown: InterruptView) => (
    <FormDraftProvider drafts={DRAFTS}>
      <InterruptCard
        view={shown}
        call={null}
        clock={Date.now}
        onAnswer={onAnswer}
        onWithdraw={vi.fn()}
      />
    </FormDraftProvider>
  );
  const { rerender } = render(page(interruptView));
  return {
    onAnswer,
    becomes: (next: InterruptView) => {
      rerender(page(next));
    },
  };
}

const DRAFTS = sessionFormDrafts();
const press = (name: string) => userEvent.click(screen.getByRole("button", { name }));
const form = (properties: Record<string, unknown>): Interrupt => ({
  id: "f",
  reason: "input_required",
  message: "What for?",
  responseSchema: { type: "object", properties },
});

afterEach(() => {
  sessionStorage.clear();
});

it("a reason that was typed is there after a reload, and takes no focus", async () => {
  load(view(approval("a")));
  await press("Deny");
  await userEvent.type(screen.getByRole("textbox"), "Too much");
  const { onAnswer } = load(view(approval("a")));
  expect(screen.getByRole("textbox")).toHaveValue("Too much");
  expect(document.body).toHaveFocus();
  await press("Confirm denial");
  const payload = { approved: false, reason: "Too much" };
  expect(onAnswer).toHaveBeenCalledExactlyOnceWith({ status: "resolved", payload });
});

it("[CL-08] a question that is put in other words has nothing kept", async () => {
  load(view(approval("a")));
  await press("Deny");
  await userEvent.type(screen.getByRole("textbox"), "Too much");
  load(view(approval("a", { message: "And now?" })));
  expect(screen.queryByRole("textbox")).toBeNull();
});

it("what is answered is kept no longer", async () => {
  const { becomes } = load(view(approval("a")));
  await press("Deny");
  await userEvent.type(screen.getByRole("textbox"), "Too much");
  becomes(view(approval("a"), { phase: "sending" }));
  expect(sessionStorage).toHaveLength(0);
});

it("what waits to be sent is kept until it is: undone, it is there again", async () => {
  load(view(approval("a")));
  await press("Deny");
  await userEvent.type(screen.getByRole("textbox"), "Too much");
  const answer = { status: "resolved", payload: { approved: false, reason: "Too much" } } as const;
  load(view(approval("a"), { phase: "answered", answer, sendAt: Date.now() + 5_000 }));
  load(view(approval("a")));
  expect(screen.getByRole("textbox")).toHaveValue("Too much");
});

it("[S2] a half-filled form is there after a reload, with its types", async () => {
  const question = form({ many: { type: "integer" }, note: { type: "string" } });
  load(view(question));
  await userEvent.type(await screen.findByRole("textbox", { name: "many" }), "3");
  const { onAnswer } = load(view(question));
  expect(await screen.findByRole("textbox", { name: "many" })).toHaveValue("3");
  await press("Answer");
  const payload = { many: 3 };
  expect(onAnswer).toHaveBeenCalledExactlyOnceWith({ status: "resolved", payload });
});

it.each([{ writeOnly: true }, { format: "password" }])(
  "a question that takes a secret (%o) keeps nothing",
  async (mark) => {
    load(view(form({ name: { type: "string" }, key: { type: "string", ...mark } })));
    await userEvent.type(await screen.findByLabelText("name"), "Ada");
    expect(sessionStorage).toHaveLength(0);
  },
);

it("what was kept and fits nothing is left out", () => {
  DRAFTS.write(approval("a"), { mode: "fly", extras: 3, reason: {} });
  load(view(approval("a")));
  expect(screen.getByRole("button", { name: "Approve" })).toBeVisible();
  expect(screen.queryByRole("textbox")).toBeNull();
});

it("without storage a card works all the same", async () => {
  vi.spyOn(Storage.prototype, "setItem").mockImplementation(() => {
    throw new DOMException("full", "QuotaExceededError");
  });
  const { onAnswer } = load(view(approval("a")));
  await press("Deny");
  await userEvent.type(screen.getByRole("textbox"), "no");
  await press("Confirm denial");
  expect(onAnswer).toHaveBeenCalledOnce();
});
