import type { Interrupt, Message } from "@ag-ui/client";
import { render, screen, waitFor, within } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { InterruptGroup, SettledLine } from "../../src/components/index.js";
import { callAbout, readSettled, validateAnswer } from "../../src/core/index.js";
import { Conversation, InterruptController, useConversation } from "../../src/index.js";
import { finished, interrupted, run, ScriptedServer, snapshot } from "../wire.js";

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

/** Renders the card of one question, and returns the server that will get its answer. */
async function show(interrupt: Interrupt) {
  const server = new ScriptedServer().onRun(run(finished));
  server.onConnect(run(...snapshot(), interrupted(interrupt)));
  const controller = new InterruptController(server.agent(), { validate: validateAnswer });
  render(<Chat conversation={new Conversation(controller)} />);
  await screen.findAllByRole("region");
  return { payload: (): unknown => server.runs.at(-1)?.body.resume?.[0]?.payload, server };
}

const click = (name: string | RegExp) => userEvent.click(screen.getByRole("button", { name }));

const rule = (action: string, then: Record<string, unknown>) => ({
  if: { properties: { action: { const: action } }, required: ["action"] },
  then,
});

const decision = (details: Record<string, unknown> = {}): Interrupt => ({
  id: "a",
  reason: "sayso:decision",
  message: "Delete 847 files\nWhy: nobody opens them\nImpact: files: 847; reversible: no",
  responseSchema: {
    type: "object",
    properties: {
      action: {
        title: "What should be done?",
        oneOf: [
          { const: "all", title: "Delete all", description: "All 847 are gone for good." },
          { const: "some", title: "Delete some", description: "Only the old ones are." },
        ],
      },
      note: { type: "string", title: "Note", maxLength: 2000 },
      params: { title: "Details" },
    },
    required: ["action"],
    additionalProperties: false,
    allOf: [
      rule("all", { properties: { params: false } }),
      rule("some", {
        properties: {
          params: {
            type: "object",
            title: "Which",
            properties: { days: { type: "integer", title: "Older than days", minimum: 1 } },
            required: ["days"],
          },
        },
        required: ["params"],
      }),
    ],
  },
  metadata: {
    sayso: {
      kind: "decision",
      plannedAction: "Delete 847 files",
      why: "nobody opens them",
      impact: { files: 847, reversible: false, "<b>size</b>": { gb: 2 } },
      ...details,
    },
  },
});

const breakpoint: Interrupt = {
  id: "a",
  reason: "sayso:breakpoint",
  message: "Breakpoint before step 'deploy'. Continue?",
  responseSchema: {
    type: "object",
    properties: {
      action: {
        oneOf: [
          { const: "continue", title: "Continue", description: "The agent continues from here." },
          { const: "stop", title: "Stop", description: "The turn ends here." },
        ],
      },
      note: { type: "string" },
    },
    required: ["action"],
  },
  metadata: { sayso: { kind: "breakpoint", when: "before", of: "step", name: "deploy" } },
};

const settled = (content: Record<string, unknown>) =>
  readSettled({
    id: "m",
    role: "activity",
    activityType: "sayso:settled",
    content: {
      interruptId: "a",
      reason: "confirmation",
      question: "Sure?",
      status: "resolved",
      said: "yes",
      ...content,
    },
  });

beforeAll(async () => {
  // The form library is loaded lazily; loading it once keeps the first test within its time.
  await import("../../src/components/form/RjsfForm.js");
});
beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});

describe("a decision", () => {
  it("says what is planned, why, to what effect, and what follows from each option", async () => {
    await show(decision());
    const card = screen.getByRole("region", { name: "Decision" });
    expect(within(card).getByText("Delete 847 files")).toBeVisible();
    expect(within(card).getByText("Why").nextSibling).toHaveTextContent("nobody opens them");
    const figures = within(card)
      .getAllByRole("listitem")
      .map((element) => element.textContent);
    expect(figures).toEqual(["files 847", "reversible no", '<b>size</b> {"gb":2}']);
    expect(within(card).getByRole("radio", { name: /Delete all/ })).not.toBeChecked();
    expect(within(card).getByText("All 847 are gone for good.")).toBeVisible();
    expect(within(card).queryByText(/Impact: files/)).toBeNull();
  });

  it("sends the chosen action alone, once one is chosen", async () => {
    const { payload, server } = await show(decision());
    await click("Continue");
    expect(screen.getByText("Choose an option first.")).toBeVisible();
    expect(server.runs).toEqual([]);
    await userEvent.click(screen.getByRole("radio", { name: /Delete all/ }));
    await click("Delete all");
    await waitFor(() => {
      expect(payload()).toEqual({ action: "all" });
    });
    expect(await screen.findByText("Delete all")).toBeVisible();
  });

  it("[SE-06] finds one of three thousand ways to go by typing", async () => {
    const oneOf = Array.from({ length: 3_000 }, (_, index) => ({
      const: `c${index}`,
      title: `Customer ${index}`,
    }));
    const { payload } = await show({
      id: "a",
      reason: "sayso:decision",
      message: "Whom?",
      responseSchema: { type: "object", properties: { action: { oneOf } }, required: ["action"] },
    });
    expect(screen.getAllByRole("radio")).toHaveLength(100);
    expect(screen.getByText("2,900 more. Type a part of the name.")).toBeVisible();
    await userEvent.type(screen.getByLabelText("Find an option"), "Customer 2718");
    await userEvent.click(screen.getByLabelText("Customer 2718"));
    await click("Customer 2718");
    await waitFor(() => {
      expect(payload()).toEqual({ action: "c2718" });
    });
  });

  it("takes a note along", async () => {
    const { payload } = await show(decision());
    await userEvent.click(screen.getByRole("radio", { name: /Delete all/ }));
    await click("Add a note");
    await userEvent.type(await screen.findByLabelText("Note"), "today");
    await click("Delete all");
    await waitFor(() => {
      expect(payload()).toEqual({ action: "all", note: "today" });
    });
  });

  it("asks for what an option needs, and only with that option", async () => {
    const { payload } = await show(decision());
    await userEvent.click(screen.getByRole("radio", { name: /Delete some/ }));
    const days = await screen.findByLabelText(/Older than days/);
    await click("Delete some");
    expect(await screen.findByText("Required.")).toBeVisible();
    await userEvent.type(days, "30");
    await userEvent.click(screen.getByRole("radio", { name: /Delete all/ }));
    expect(screen.queryByLabelText(/Older than days/)).toBeNull();
    await userEvent.click(screen.getByRole("radio", { name: /Delete some/ }));
    await userEvent.type(await screen.findByLabelText(/Older than days/), "30");
    await click("Delete some");
    await waitFor(() => {
      expect(payload()).toEqual({ action: "some", params: { days: 30 } });
    });
  });

  it("shows the whole message of a server that says no more", async () => {
    await show({ ...decision(), metadata: { sayso: { kind: "other" } } });
    expect(screen.getByText(/Impact: files: 847/)).toBeVisible();
  });

  it("survives a briefing that is none", async () => {
    await show(decision({ plannedAction: 7, why: null, impact: [1] }));
    expect(screen.getByText("Delete 847 files")).toBeVisible();
    expect(screen.queryByText("Why")).toBeNull();
  });
});

describe("a clarification", () => {
  it("says what it could cover and how far it reaches", async () => {
    await show({
      id: "a",
      reason: "input_required",
      message: "Which database?\nScope: both\nBlast radius: tables: 3",
      responseSchema: { type: "string" },
      metadata: { sayso: { kind: "clarification", scope: "both", blastRadius: { tables: 3 } } },
    });
    const card = screen.getByRole("region", { name: "Clarification" });
    expect(within(card).getByText("Which database?")).toBeVisible();
    expect(within(card).getByText("Scope").nextSibling).toHaveTextContent("both");
    expect(within(card).getByText("Blast radius").nextSibling).toHaveTextContent("tables 3");
  });
});

describe("a breakpoint", () => {
  it.each([
    ["Continue", "continue"],
    ["Stop", "stop"],
  ])("%s is one click", async (name, action) => {
    const { payload } = await show(breakpoint);
    expect(screen.getByRole("region", { name: "Breakpoint" })).toBeVisible();
    expect(screen.queryByRole("radio")).toBeNull();
    await click(name);
    await waitFor(() => {
      expect(payload()).toEqual({ action });
    });
  });
});

describe("what a breakpoint may go on with", () => {
  const behind = (result: unknown): Interrupt => ({
    ...breakpoint,
    responseSchema: {
      ...breakpoint.responseSchema,
      properties: {
        ...(breakpoint.responseSchema?.properties as object),
        result: { type: "object", title: "Result", properties: { id: { $ref: "#/$defs/Id" } } },
      },
      if: { properties: { action: { const: "stop" } }, required: ["action"] },
      then: { properties: { result: false } },
      $defs: { Id: { type: "integer", title: "Id" } },
    },
    metadata: { sayso: { kind: "breakpoint", when: "after", of: "step", name: "deploy", result } },
  });

  it("is another result, which is shown as such beside what it takes the place of", async () => {
    const { payload } = await show(behind({ id: 7 }));
    await click("Edit result");
    const id = await screen.findByRole("textbox", { name: "Id" });
    expect(id).toHaveValue("7");
    await userEvent.clear(id);
    await userEvent.type(id, "eight");
    await click("Continue with changes");
    expect(screen.getByText("Must be a number.")).toBeVisible();
    await userEvent.clear(id);
    await userEvent.type(id, "8");
    await click("Continue with changes");
    await waitFor(() => {
      expect(payload()).toEqual({ action: "continue", result: { id: 8 } });
    });
    expect(await screen.findByText("Continue with changes")).toBeVisible();
    expect(screen.getByRole("region", { name: "Edited result" })).toHaveTextContent("id8");
    expect(screen.getByRole("region", { name: "Result" })).toHaveTextContent("id7");
  });

  it("is what it shows, where somebody goes on with this as it is", async () => {
    const { payload } = await show(behind({ id: 7 }));
    await click("Edit result");
    await screen.findByRole("textbox", { name: "Id" });
    await click("Continue with changes");
    await waitFor(() => {
      expect(payload()).toEqual({ action: "continue", result: { id: 7 } });
    });
    expect(await screen.findByText("Continue")).toBeVisible();
  });

  it("is not sent by who goes back", async () => {
    const { payload } = await show(behind({ id: 7 }));
    await click("Edit result");
    await screen.findByRole("textbox", { name: "Id" });
    await click("Back");
    await click("Continue");
    await waitFor(() => {
      expect(payload()).toEqual({ action: "continue" });
    });
  });

  it("is named by its tool where the conversation is not at hand", () => {
    const metadata = {
      sayso: { kind: "breakpoint", when: "before", of: "tool", name: "pay", arguments: { n: 1 } },
    };
    const call = callAbout({ ...breakpoint, toolCallId: "call-1", metadata }, []);
    expect(call).toMatchObject({ name: "pay", args: { n: 1 } });
  });
});

describe("what stands beside a breakpoint", () => {
  const details = (more: Record<string, unknown>): Interrupt => ({
    ...breakpoint,
    metadata: { sayso: { kind: "breakpoint", when: "after", of: "step", name: "deploy", ...more } },
  });

  it("is what a change of the state does not reach", async () => {
    await show(details({ note: "Editing the state does not change these arguments." }));
    expect(screen.getByText(/does not change these arguments/)).toBeVisible();
  });

  it.each([
    ["Result", { result: { id: 7 } }, "id7"],
    ["Result", { result: null }, "null"],
    ["Error", { error: "ValueError: no luck" }, "ValueError: no luck"],
  ])("is what came of it: %s", async (name, more, text) => {
    await show(details(more));
    expect(screen.getByRole("region", { name })).toHaveTextContent(text);
  });
});

describe("a settled question", () => {
  it("is one line: asked what, answered what, by whom, when", () => {
    render(<SettledLine settled={settled({ by: "ann", at: "2026-01-02T03:04:05.000Z" })!} />);
    const line = screen.getByText("yes").parentElement!;
    expect(line).toHaveTextContent(/^Sure\? yes by ann, /);
    expect(line.querySelector("time")).toHaveAttribute("datetime", "2026-01-02T03:04:05.000Z");
  });

  it.each([
    ["cancelled", "Withdrawn without an answer"],
    ["expired", "Nobody answered in time"],
  ])("says that it was %s, which is no answer", (status, words) => {
    render(<SettledLine settled={settled({ status, said: undefined })!} />);
    expect(screen.getByText(words)).toBeVisible();
  });

  it("opens to the whole of a long answer, as text", async () => {
    const said = `<b>${"x".repeat(500)}</b>\nthe end`;
    render(<SettledLine settled={settled({ said })!} />);
    expect(screen.getByText(/the end/)).not.toBeVisible();
    await userEvent.click(screen.getByText("Sure?", { selector: "summary *" }));
    expect(screen.getByText(/the end/)).toBeVisible();
    expect(document.querySelector("b")).toBeNull();
  });

  it.each([
    { role: "user", content: "hello" },
    { role: "activity", activityType: "PLAN", content: { status: "resolved" } },
    { role: "activity", activityType: "sayso:settled", content: { status: "odd" } },
    { role: "activity", activityType: "sayso:settled", content: 7 },
  ])("is not read into any other message: %j", (message) => {
    expect(readSettled({ id: "m", ...message } as unknown as Message)).toBeNull();
  });
});
