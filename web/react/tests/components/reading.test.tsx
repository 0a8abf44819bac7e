import type { Interrupt } from "@ag-ui/client";
import { act, render, screen } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { InterruptCard } from "../../src/components/index.js";
import { ReadOnButton } from "../../src/components/ReadOnButton.js";
import { approval } from "../wire.js";

/** Stands in for the browser's own; tests say whether the end of the card is on the screen. */
class Screen {
  static tell: (shown: boolean) => void = () => undefined;
  constructor(callback: IntersectionObserverCallback) {
    Screen.tell = (isIntersecting) => {
      act(() => {
        callback([{ isIntersecting }] as IntersectionObserverEntry[], this as never);
      });
    };
  }
  observe(): void {
    // Nothing is on the screen before a test says so.
  }
  disconnect(): void {
    Screen.tell = () => undefined;
  }
}

beforeEach(() => {
  vi.stubGlobal("IntersectionObserver", Screen);
  Element.prototype.scrollIntoView = vi.fn();
});

afterEach(() => {
  vi.unstubAllGlobals();
});

it("whoever is on the way to what is unread is one step before the yes once all is read, not on it", async () => {
  const onApprove = vi.fn();
  const row = (unread: boolean) => (
    <div data-testid="row">
      <button className="sayso-primary" disabled={unread} onClick={onApprove}>
        Approve
      </button>
      <ReadOnButton label="Read to the end" unread={unread} onPress={vi.fn()} />
    </div>
  );
  const { rerender } = render(row(true));
  screen.getByRole("button", { name: "Read to the end" }).focus();
  rerender(row(false));
  expect(screen.getByTestId("row")).toHaveFocus();
  // A key that is held down is pressed again and again.
  await userEvent.keyboard("{Enter>3/}");
  expect(onApprove).not.toHaveBeenCalled();
  await userEvent.tab();
  expect(screen.getByRole("button", { name: "Approve" })).toHaveFocus();
});

const LONG = "Delete the lot. ".repeat(100);

function show(message: string, interrupt: Interrupt = approval("a", { message })) {
  const onAnswer = vi.fn();
  const drawn = (requested: number) => (
    <InterruptCard
      view={{
        interrupt,
        phase: "open",
        answer: null,
        problems: [],
        closed: null,
        asked: requested,
      }}
      call={null}
      clock={() => 0}
      onAnswer={onAnswer}
      onWithdraw={() => undefined}
    />
  );
  const { rerender } = render(drawn(1));
  const ask = (requested: number) => {
    rerender(drawn(requested));
  };
  return { onAnswer, ask };
}

const approve = () => screen.getByRole("button", { name: "Approve" });
const further = () => screen.getByRole("button", { name: "Read to the end" });

describe("a yes", () => {
  it("waits while something is folded, and leads there; a no does not wait", async () => {
    const { onAnswer } = show(LONG);
    expect(approve()).toBeDisabled();
    expect(screen.getByRole("button", { name: "Deny" })).toBeEnabled();
    await userEvent.click(further());
    expect(screen.queryByRole("button", { name: /^Show all/ })).toBeNull();
    expect(onAnswer).not.toHaveBeenCalled();
    Screen.tell(true);
    await userEvent.click(approve());
    expect(onAnswer).toHaveBeenCalledOnce();
  });

  it("waits for what is folded on a page that cannot tell what is on the screen", async () => {
    vi.stubGlobal("IntersectionObserver", undefined);
    show(LONG);
    expect(approve()).toBeDisabled();
    await userEvent.click(further());
    expect(approve()).toBeEnabled();
  });

  it("waits while the end is below the screen, and is the key's only after it", async () => {
    const { onAnswer } = show("Delete it?");
    Screen.tell(false);
    expect(approve()).toBeDisabled();
    expect(further()).toHaveAttribute("data-act", "approve");
    expect(approve()).not.toHaveAttribute("data-act");
    Screen.tell(true);
    expect(approve()).toHaveAttribute("data-act", "approve");
    expect(screen.queryByRole("button", { name: "Read to the end" })).toBeNull();
    await userEvent.click(approve());
    expect(onAnswer).toHaveBeenCalledOnce();
  });

  it("that came before the page knew counts once all is on the screen, and not otherwise", async () => {
    const { onAnswer } = show("Delete it?");
    await userEvent.click(approve());
    expect(onAnswer).not.toHaveBeenCalled();
    Screen.tell(true);
    expect(onAnswer).toHaveBeenCalledOnce();
  });

  it("that came too early is no yes to what is read later", async () => {
    const { onAnswer } = show("Delete it?");
    await userEvent.click(approve());
    Screen.tell(false);
    Screen.tell(true);
    expect(onAnswer).not.toHaveBeenCalled();
  });

  it("waits again when the question is asked anew", () => {
    const { ask } = show("Delete it?");
    Screen.tell(true);
    expect(approve()).toBeEnabled();
    ask(2);
    Screen.tell(false);
    expect(approve()).toBeDisabled();
  });
});

describe("an option of a decision", () => {
  it.each([
    ["of its headline", LONG, {}],
    ["of what it permits", "Clean up", { all: { tool: "rm", arguments: { why: LONG } } }],
  ])("waits for what is folded %s; a cancellation does not wait", async (_, text, permits) => {
    const option = { const: "all", title: "Delete all" };
    const { onAnswer } = show("", {
      id: "a",
      reason: "sayso:decision",
      message: text,
      responseSchema: { type: "object", properties: { action: { oneOf: [option] } } },
      metadata: { sayso: { kind: "decision", plannedAction: text, permits } },
    });
    await userEvent.click(screen.getByRole("radio"));
    const button = screen.getByRole("button", { name: "Delete all" });
    expect(button).toBeDisabled();
    expect(screen.getByRole("button", { name: "Withdraw request" })).toBeEnabled();
    await userEvent.click(further());
    Screen.tell(true);
    await userEvent.click(button);
    expect(onAnswer).toHaveBeenCalledWith({ status: "resolved", payload: { action: "all" } });
  });
});
