import type { Interrupt } from "@ag-ui/client";
import { fireEvent, render, screen, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { InterruptCard } from "../../src/components/index.js";
import type { CallView, InterruptView } from "../../src/core/index.js";

const files = Array.from({ length: 3 }, (_, number) => `old-${number}.bin`);
const call: CallView = { id: "c", name: "delete_files", args: { files }, text: "" };

const asked = (details: Record<string, unknown>): Interrupt => ({
  id: "a",
  reason: "tool_call",
  toolCallId: "c",
  message: "Approve delete_files(files=[847 values])?\nIt cannot be undone.\nWhy: old",
  responseSchema: { type: "object", properties: { approved: { type: "boolean" } } },
  metadata: { sayso: { tool: "delete_files", arguments: { files }, ...details } },
});

function show(interrupt: Interrupt, about: CallView | null = call) {
  const view: InterruptView = {
    interrupt,
    phase: "open",
    answer: null,
    closed: null,
    problems: [],
    asked: 1,
  } as unknown as InterruptView;
  render(
    <InterruptCard
      view={view}
      call={about}
      clock={() => 0}
      onAnswer={() => undefined}
      onWithdraw={() => undefined}
    />,
  );
  return within(screen.getByRole("region"));
}

describe("a gated call", () => {
  it("says what it is, why it is asked, what the agent says, and its impact", () => {
    const card = show(
      asked({
        title: "Delete the old files\u202e",
        because: "It cannot be undone. It touches 847 files.",
        why: "Nobody has opened them.",
        impact: { files: 847, reversible: false },
        ranBefore: "executed",
        changes: [{ path: "/folder", from: "tmp", to: "old" }],
      }),
    );
    expect(card.getByText(/Delete the old files/)).toHaveTextContent("U+202E");
    expect(card.getByText(/It touches 847 files/)).toHaveTextContent("already ran in this turn");
    expect(card.getByText("Nobody has opened them.").closest("figure")).toHaveTextContent(
      "The agent says",
    );
    expect(card.getByText("Impact").nextSibling).toHaveTextContent("files 847reversible no");
    expect(card.getByText("Changed").nextSibling).toHaveTextContent("folder tmp → old");
    expect(card.queryByText(/847 values/)).toBeNull();
    expect(card.getByLabelText("Arguments of delete_files")).toHaveTextContent("old-2.bin");
  });

  it("is told by its message where the card has no call to show", () => {
    expect(show(asked({ why: "old" }), null).getByText(/847 values/)).toBeVisible();
  });

  it("survives a briefing that is none", () => {
    const card = show(asked({ title: 3, because: {}, why: [], impact: "", changes: [1, {}] }));
    expect(card.queryByText("The agent says")).toBeNull();
    expect(card.getByRole("button", { name: "Approve" })).toBeVisible();
  });
});

describe("an option that permits a call", () => {
  it("shows what it runs, with the arguments as they are", () => {
    const option = { const: "all", title: "Delete all", description: "Runs delete_files." };
    const card = show(
      {
        id: "a",
        reason: "sayso:decision",
        message: "Clean up",
        responseSchema: { type: "object", properties: { action: { oneOf: [option] } } },
        metadata: {
          sayso: {
            kind: "decision",
            plannedAction: "Clean up",
            permits: { all: { tool: "delete_files", arguments: { files } } },
          },
        },
      },
      null,
    );
    expect(card.getByText("Runs delete_files.")).toBeVisible();
    const permit = card.getByText("Arguments of delete_files").closest("details");
    expect(permit).toHaveTextContent("old-2.bin");
    expect(permit).not.toHaveAttribute("open");
    fireEvent.click(card.getByRole("radio"));
    expect(permit).toHaveAttribute("open");
  });
});
