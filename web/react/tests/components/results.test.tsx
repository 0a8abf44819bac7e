import { render, screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { InterruptCard, resultOf } from "../../src/components/index.js";
import type { Answer, CallResult, InterruptView } from "../../src/core/index.js";
import { approval } from "../wire.js";

const yes: Answer = { status: "resolved", payload: { approved: true } };
const no = (reason?: string): Answer => ({
  status: "resolved",
  payload: { approved: false, ...(reason !== undefined && { reason }) },
});

function decided(answer: Answer, result?: Partial<CallResult>): InterruptView {
  const interrupt = approval("a");
  const full = { status: "executed", text: null, at: 0, ms: null, ...result } as const;
  const closed = {
    interrupt,
    ending: "answered",
    answer,
    closedAt: 0,
    ...(result !== undefined && { result: full }),
  } as const;
  return { interrupt, phase: "closed", answer, problems: [], closed, asked: 1 };
}

function words(answer: Answer, result?: Partial<CallResult>): string | null {
  const said = resultOf(decided(answer, result));
  return said === null ? null : [said.title, said.text].filter((text) => text !== null).join(" ");
}

describe("what came of a decision", () => {
  it("is said in words, with how long it took", () => {
    expect(words(yes, { text: "Refunded 240.00", ms: 300 })).toBe("Ran: Refunded 240.00 · 0.3 s");
    expect(words(yes, { ms: 20 })).toBe("Ran · under 0.1 s");
    expect(words(yes, { ms: 64_000, text: "Sent" })).toBe("Ran: Sent · 1 min 04 s");
    expect(words(yes, { status: "failed", text: "the bank said no" })).toBe(
      "Failed: the bank said no. The agent was told.",
    );
    expect(words(yes, { status: "failed" })).toBe("Failed. The agent was told.");
    expect(words(yes, { status: "not_run", text: "The turn was stopped." })).toBe(
      "Not run. The turn was stopped.",
    );
    expect(words(yes, { status: "unknown" })).toMatch(/may or may not have happened/);
    expect(words(yes)).toBeNull();
  });

  it("of a denial is that it did not run, whoever has told so", () => {
    const said = "Not run. Reason given to the agent: wrong address";
    expect(words(no("wrong address"))).toBe(said);
    expect(words(no("wrong address"), { status: "not_run", text: "wrong address" })).toBe(said);
    expect(words(no())).toBe("Not run. The agent was told no.");
  });

  it("stands under it on its card, and a denial says its reason once", () => {
    const nothing = () => undefined;
    const props = { call: null, clock: () => 4000, onAnswer: nothing, onWithdraw: nothing };
    const { rerender, container } = render(
      <InterruptCard {...props} view={decided(yes, { status: "running", at: 0 })} />,
    );
    expect(screen.getByText("Running…").parentElement).toHaveTextContent("Running… 4 s");
    rerender(<InterruptCard {...props} view={decided(yes, { text: "Done", ms: 4000 })} />);
    expect(container.querySelector(".sayso-result")).toHaveTextContent("Ran: Done · 4.0 s");
    expect(screen.getByRole("status")).toHaveTextContent(/^Approved\s*by you · /);
    rerender(<InterruptCard {...props} view={decided(no("too much"))} />);
    expect(screen.getAllByText(/too much/)).toHaveLength(1);
    expect(screen.getByRole("region")).toHaveAttribute("data-tone", "no");
  });
});
