import type { Interrupt } from "@ag-ui/client";
import { render, screen } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { describe, expect, it, vi } from "vitest";
import { InterruptCard, outcomeOf } from "../../src/components/index.js";
import { elsewhereOf, type InterruptView } from "../../src/core/index.js";

const URL_THERE = "https://login.example.org/start?state=1";

/** A question about something that is done at another place, as a Sayso server asks it. */
function elsewhere(details: Record<string, unknown> = {}): Interrupt {
  return {
    id: "a",
    reason: "sayso:elsewhere",
    message: `Sign in to the bank.\n\nThis is done at login.example.org, and not here: ${URL_THERE}`,
    metadata: {
      sayso: {
        kind: "elsewhere",
        url: URL_THERE,
        host: "login.example.org",
        text: "Sign in to the bank.",
        ...details,
      },
    },
    responseSchema: {
      type: "object",
      properties: {
        action: {
          title: "Is it done?",
          oneOf: [
            { const: "done", title: "Done", description: "You have done it there." },
            { const: "deny", title: "Deny", description: "You will not do it." },
          ],
        },
      },
      required: ["action"],
      additionalProperties: false,
    },
  };
}

function viewOf(interrupt: Interrupt, more: Partial<InterruptView> = {}): InterruptView {
  const view = { interrupt, phase: "open", answer: null, problems: [], closed: null, asked: 1 };
  return { ...view, ...more } as InterruptView;
}

function show(view: InterruptView) {
  const onAnswer = vi.fn();
  render(
    <InterruptCard
      view={view}
      call={null}
      clock={() => 0}
      onAnswer={onAnswer}
      onWithdraw={() => undefined}
    />,
  );
  return onAnswer;
}

describe("a question about another place", () => {
  it("says where it is done, leads there, and takes no text", async () => {
    const onAnswer = show(viewOf(elsewhere()));
    expect(screen.getByText("Sign in to the bank.")).toBeVisible();
    expect(screen.queryByText(/state=1/)).toBeNull();
    const link = screen.getByRole("link", { name: /Open login.example.org.*in a new tab/ });
    expect(link).toHaveAttribute("href", URL_THERE);
    expect(link).toHaveAttribute("rel", "noopener noreferrer");
    expect(link).toHaveAttribute("target", "_blank");
    expect(screen.queryByRole("textbox")).toBeNull();
    await userEvent.click(screen.getByRole("button", { name: "Done" }));
    expect(onAnswer).toHaveBeenCalledWith({ status: "resolved", payload: { action: "done" } });
  });

  it("leads nowhere once it is answered, or for who may not answer", () => {
    const denied = { status: "resolved", payload: { action: "deny" } } as const;
    const interrupt = elsewhere();
    const closed = { interrupt, answer: denied, ending: "answered", closedAt: 1 } as const;
    const view = viewOf(interrupt, { phase: "closed", answer: denied, closed });
    show(view);
    expect(screen.queryByRole("link")).toBeNull();
    expect(screen.getByText("login.example.org")).toBeVisible();
    expect(outcomeOf(view)).toMatchObject({ tone: "no", title: "Denied" });
    const others = elsewhere({ may: ["cancel"], waitsFor: { roles: ["lead"] } });
    show(viewOf(others));
    expect(screen.queryByRole("link")).toBeNull();
  });

  it.each([
    "javascript:alert(1)",
    "http://example.org/",
    "http://localhost.example.org/",
    "https://bank.example@evil.example/",
    "data:text/html,x",
    "/relative",
    "",
    5,
  ])("makes no link of %s, whatever the server says", (url) => {
    show(viewOf(elsewhere({ url })));
    expect(screen.queryByRole("link")).toBeNull();
    expect(screen.getByRole("button", { name: "Done" })).toBeVisible();
  });

  it.each([
    ["http://localhost:8000/x", "localhost:8000"],
    ["http://[::1]:8000/", "[::1]:8000"],
    ["https://BANK.example:443/", "bank.example"],
    ["https://bänk.example/", "xn--bnk-qla.example"],
  ])("names the host of %s as a browser reads it", (url, host) => {
    expect(elsewhereOf(elsewhere({ url, host: "another.example" }))?.host).toBe(host);
  });
});
