import type { Interrupt } from "@ag-ui/client";
import { act, render, screen, waitFor, within } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { StrictMode } from "react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { InterruptGroup } from "../../src/components/index.js";
import { Conversation, InterruptController, useConversation } from "../../src/index.js";
import { validateAnswer } from "../../src/core/index.js";
import {
  approval,
  finished,
  interrupted,
  run,
  runError,
  ScriptedServer,
  snapshot,
} from "../wire.js";

function Chat({ conversation }: { readonly conversation: Conversation }) {
  const { messages } = useConversation(conversation);
  const { batches } = conversation.controller.getSnapshot();
  return batches.map((batch) => (
    <InterruptGroup
      key={batch.id}
      controller={conversation.controller}
      batch={batch}
      messages={messages}
    />
  ));
}

async function show(server: ScriptedServer, messages: unknown[], ...interrupts: Interrupt[]) {
  server.onConnect(run(...snapshot(messages), interrupted(...interrupts)));
  const controller = new InterruptController(server.agent(), { validate: validateAnswer });
  render(
    <StrictMode>
      <Chat conversation={new Conversation(controller)} />
    </StrictMode>,
  );
  await screen.findAllByRole("region");
  return controller;
}

const three = () => [approval("a"), approval("b"), approval("c")] as const;
const button = (name: string | RegExp) => screen.getByRole("button", { name });
// What says yes to a card opens once the page has told that the card was on the screen.
const click = async (name: string | RegExp) => {
  await waitFor(() => {
    expect(button(name)).toBeEnabled();
  });
  await userEvent.click(button(name));
};
const inCard = (index: number) => within(screen.getAllByRole("region")[index]!);
const calls = (id: string, args: unknown) => ({
  id: `m-${id}`,
  role: "assistant",
  toolCalls: [
    {
      id: `call-${id}`,
      type: "function",
      function: { name: "pay", arguments: JSON.stringify(args) },
    },
  ],
});

/** Stands in for the browser's own; tests say what comes onto the screen. */
class Screen {
  static readonly watched = new Map<Element, () => void>();
  #node: Element | undefined;
  constructor(private readonly callback: IntersectionObserverCallback) {}
  observe(node: Element): void {
    this.#node = node;
    Screen.watched.set(node, () => {
      this.callback([{ isIntersecting: true }] as IntersectionObserverEntry[], this as never);
    });
  }
  disconnect(): void {
    if (this.#node !== undefined) Screen.watched.delete(this.#node);
  }
  static reveal(card: Element): void {
    for (const [node, tell] of [...Screen.watched]) if (card.contains(node)) act(tell);
  }
}

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  Element.prototype.scrollIntoView = () => undefined;
});
afterEach(() => {
  vi.unstubAllGlobals();
});

describe("several questions at once", () => {
  it("[V1] are approved by one button, in one request", async () => {
    const server = new ScriptedServer().onRun(run(finished));
    await show(server, [], ...three());
    await click("Approve all 3");
    await waitFor(() => {
      expect(server.runs).toHaveLength(1);
    });
    expect(server.runs[0]?.body.resume).toEqual(
      ["a", "b", "c"].map((interruptId) => ({
        interruptId,
        status: "resolved",
        payload: { approved: true },
      })),
    );
  });

  it("[V2] keep the answers that were given one by one", async () => {
    const server = new ScriptedServer().onRun(run(finished));
    await show(server, [], ...three());
    await userEvent.click(inCard(1).getByRole("button", { name: "Deny" }));
    await userEvent.type(inCard(1).getByRole("textbox"), "not this one");
    await userEvent.click(inCard(1).getByRole("button", { name: "Confirm denial" }));
    await click("Approve the other 2");
    await waitFor(() => {
      expect(server.runs).toHaveLength(1);
    });
    expect(server.runs[0]?.body.resume?.map((run) => run.payload as unknown)).toEqual([
      { approved: true },
      { approved: false, reason: "not this one" },
      { approved: true },
    ]);
  });

  it("[V3] are denied with one reason for those that take one", async () => {
    const server = new ScriptedServer().onRun(run(finished));
    await show(server, [], approval("a"), { id: "b", reason: "confirmation", message: "Sure?" });
    await click("Deny all 2");
    await userEvent.type(screen.getByRole("textbox", { name: /Reason/ }), "No money left");
    await click("Deny all 2");
    await waitFor(() => {
      expect(server.runs).toHaveLength(1);
    });
    expect(server.runs[0]?.body.resume?.map((run) => run.payload as unknown)).toEqual([
      { approved: false, reason: "No money left" },
      false,
    ]);
  });

  it("[V1] can be decided together only after each has been on the screen in full", async () => {
    vi.stubGlobal("IntersectionObserver", Screen);
    const server = new ScriptedServer().onRun(run(finished));
    const long = { body: "x".repeat(10_000) };
    await show(server, [calls("b", long)], ...three());
    const cards = screen.getAllByRole("region");
    expect(button("Approve all 3")).toBeDisabled();
    expect(button("Deny all 3")).toBeEnabled();
    for (const card of cards) Screen.reveal(card);
    expect(button("Approve all 3")).toBeDisabled();
    expect(screen.getByText(/1 not fully read/)).toBeVisible();
    expect(inCard(1).getByRole("button", { name: "Show all 10,000 characters" })).toBeVisible();
    await click("Next unread");
    expect(cards[1]).toHaveFocus();
    expect(inCard(1).queryByRole("button", { name: /^Show all/ })).toBeNull();
    Screen.reveal(cards[1]!);
    expect(button("Approve all 3")).toBeEnabled();
  });

  it("lead to the question that needs an answer of its own, and send nothing yet", async () => {
    const server = new ScriptedServer();
    const free: Interrupt = { id: "z", reason: "input_required", message: "Where to?" };
    await show(server, [], approval("a"), free, approval("c"));
    expect(screen.getByText(/1 needs its own answer/)).toBeVisible();
    await click("Approve the other 2");
    expect(screen.getAllByRole("region")[1]).toHaveFocus();
    expect(server.runs).toEqual([]);
    expect(button("Send 3 answers")).toBeDisabled();
  });

  it("[CL-07] stay answered when sending fails, and are sent again as they were", async () => {
    const server = new ScriptedServer().onRun(run(runError("internal")), run(finished));
    await show(server, [], ...three());
    await click("Approve all 3");
    expect(await screen.findByText(/refused: internal/)).toBeVisible();
    await click("Try again");
    await screen.findByText("3 decided");
    expect(server.runs[1]?.body.resume).toEqual(server.runs[0]?.body.resume);
  });

  it("are sent again after a lasting refusal only with another answer", async () => {
    const said = { detail: "no", code: "not_an_approver" };
    const server = new ScriptedServer().onRun(
      () => Response.json(said, { status: 403 }),
      run(finished),
    );
    await show(server, [], ...three());
    await click("Approve all 3");
    expect(await screen.findByText("Not sent.")).toBeVisible();
    expect(screen.queryByRole("button", { name: /Try again|Send/ })).toBeNull();
    const first = () => within(screen.getAllByRole("region")[0] ?? document.body);
    await userEvent.click(first().getByRole("button", { name: "Change" }));
    await userEvent.click(first().getByRole("button", { name: "Withdraw request" }));
    await click("Send 3 answers");
    await screen.findByText("3 decided");
    expect(server.runs).toHaveLength(2);
  });

  it("[T2] leave the focus on the line that says what became of them", async () => {
    const server = new ScriptedServer().onRun(run(finished));
    await show(server, [], ...three());
    const line = await screen.findByText("0 of 3 answered");
    await click("Approve all 3");
    await waitFor(() => {
      expect(line).toHaveTextContent("3 decided");
      expect(line).toHaveFocus();
    });
  });

  it("stay usable when there are a hundred", async () => {
    const server = new ScriptedServer().onRun(run(finished));
    const ids = Array.from({ length: 100 }, (_, index) => `q${index}`);
    await show(server, [], ...ids.map((id) => approval(id)));
    await click("Approve all 100");
    await waitFor(() => {
      expect(server.runs[0]?.body.resume).toHaveLength(100);
    });
  });
});

it("a text that hides its direction or has no width is spelled out", async () => {
  await show(
    new ScriptedServer(),
    [calls("a", { to: "safe\u202Egpj.exe", "k\u200Bey": "مرحبا <b>bold</b>" })],
    approval("a"),
  );
  const card = screen.getByRole("region");
  expect(card).toHaveTextContent("safeU+202Egpj.exe");
  expect(card).toHaveTextContent("kU+200Bey");
  expect(within(card).getByText(/مرحبا/)).toHaveAttribute("dir", "auto");
  expect(card.querySelector("b")).toBeNull();
});
