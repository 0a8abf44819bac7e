import type { Interrupt } from "@ag-ui/client";
import { act, render, screen, waitFor, within } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { InterruptGroup } from "../../src/components/index.js";
import {
  approval,
  deferred,
  finished,
  heldRun,
  interrupted,
  run,
  refusal,
  ScriptedServer,
  snapshot,
} from "../wire.js";
import { asked, button, click, sent, show } from "./thread.js";

const callMessages = (id: string, args: string) => [
  {
    id: `m-${id}`,
    role: "assistant",
    toolCalls: [{ id: `call-${id}`, type: "function", function: { name: "pay", arguments: args } }],
  },
];

const editable = (id: string) =>
  approval(id, {
    responseSchema: {
      type: "object",
      properties: {
        approved: { type: "boolean" },
        reason: { type: "string" },
        editedArgs: {
          type: "object",
          properties: {
            n: { type: "integer" },
            ok: { type: "boolean" },
            tags: { type: "array", items: { type: "string" } },
          },
          required: ["n"],
          additionalProperties: false,
        },
      },
      required: ["approved"],
      additionalProperties: false,
    },
  });

beforeAll(async () => {
  // The form library is loaded lazily; loading it once keeps the first test within its time.
  await import("../../src/components/form/RjsfForm.js");
});

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.useRealTimers();
});

describe("an approval", () => {
  it("says which inner agent asks, one of several of the same name each on its own", async () => {
    const server = new ScriptedServer();
    const inner = (id: string, ...path: unknown[]) =>
      approval(id, { subagentRunId: `sub-${id}`, metadata: { sayso: { path } } });
    await show(server, ...asked(inner("a", "warehouse"), inner("b", "desk", "warehouse", 7)));
    const names = screen
      .getAllByRole("heading", { level: 2 })
      .map((element) => element.textContent);
    expect(names[0]).toMatch(/1 of 2, asked by warehouse/);
    expect(names[1]).toMatch(/2 of 2, asked by desk › warehouse/);
    expect(names.join()).not.toMatch(/7/);
  });

  it("[CL-18] shows the tool and its arguments in full, as text", async () => {
    const long = `${"x".repeat(10_000)}<b>end</b>`;
    const args = { to: "<img src=x>", body: long, n: 3, list: [1, { a: null }] };
    const messages = callMessages("a", JSON.stringify(args));
    await show(new ScriptedServer(), ...snapshot(messages), interrupted(approval("a")));
    const card = screen.getByRole("region", { name: "Approval pay" });
    expect(card).toHaveTextContent(long);
    expect(card).toHaveTextContent("<img src=x>");
    expect(card.querySelector("img, b")).toBeNull();
    expect(within(card).getByText("May I run a?")).toBeVisible();
  });

  it("[K6] is shown although its call is in no message, with what the server says of it", async () => {
    const server = new ScriptedServer().onRun(run(finished));
    const details = { tool: "transfer", arguments: { to: "kim" }, path: ["desk"] };
    await show(server, ...asked(approval("a", { metadata: { sayso: details } }), approval("b")));
    const card = screen.getByRole("region", { name: /transfer/ });
    expect(card).toHaveTextContent("kim");
    for (const region of screen.getAllByRole("region")) {
      await userEvent.click(within(region).getByRole("button", { name: "Approve" }));
    }
    await click(/Send/);
    await waitFor(() => {
      expect(sent(server)?.map((resumeEntry) => resumeEntry.interruptId)).toEqual(["a", "b"]);
    });
  });

  it("[CL-18] survives arguments that are not JSON", async () => {
    const messages = callMessages("a", '{"to": ');
    await show(new ScriptedServer(), ...snapshot(messages), interrupted(approval("a")));
    expect(screen.getByText(/not valid JSON/)).toBeVisible();
    expect(screen.getByText('{"to":')).toBeVisible();
  });

  it("[B8] sends a yes as the payload, once", async () => {
    const server = new ScriptedServer().onRun(run(finished));
    await show(server, ...asked(approval("a")));
    await click("Approve");
    expect(await screen.findByText("Approved")).toBeVisible();
    expect(sent(server)).toEqual([
      { interruptId: "a", status: "resolved", payload: { approved: true } },
    ]);
    expect(screen.queryByRole("button")).toBeNull();
  });

  it("[B9] is over for good: mounted anew it has no buttons, and nothing more is sent", async () => {
    const server = new ScriptedServer().onRun(run(finished));
    const { controller, view } = await show(server, ...asked(approval("a")));
    await click("Approve");
    await screen.findByText("Approved");
    const messages = controller.agent.messages;
    const [batch] = controller.getSnapshot().batches;
    view.unmount();
    render(<InterruptGroup controller={controller} batch={batch!} messages={messages} />);
    expect(screen.getByText("Approved")).toBeVisible();
    expect(screen.queryByRole("button")).toBeNull();
    expect(controller.answer("a", { status: "cancelled" })).toBe(false);
    await controller.resolve({ approved: false }, "a");
    expect(server.runs).toHaveLength(1);
  });

  it("denies with a reason, which may be left out, and Escape leads back", async () => {
    const server = new ScriptedServer().onRun(run(finished));
    await show(server, ...asked(approval("a")));
    await click("Deny");
    const reason = screen.getByLabelText("Reason (optional)");
    expect(reason).toHaveFocus();
    await userEvent.keyboard("{Escape}");
    expect(button("Approve")).toHaveFocus();
    await click("Deny");
    await userEvent.type(screen.getByLabelText("Reason (optional)"), "too much");
    await click("Confirm denial");
    expect(await screen.findByText("Denied")).toBeVisible();
    expect(sent(server)?.[0]?.payload).toEqual({ approved: false, reason: "too much" });
  });

  it("[TB-10] cancels without a payload", async () => {
    const server = new ScriptedServer().onRun(run(finished));
    await show(server, ...asked(approval("a")));
    await click("Withdraw request");
    expect(await screen.findByText("Withdrawn")).toBeVisible();
    expect(sent(server)).toEqual([{ interruptId: "a", status: "cancelled" }]);
  });

  it("[TB-11] offers no edit unless the schema does", async () => {
    await show(new ScriptedServer(), ...asked(approval("a")));
    expect(screen.queryByRole("button", { name: "Edit arguments" })).toBeNull();
  });

  it("[G6] edits in a form whose values keep their types", async () => {
    const server = new ScriptedServer().onRun(run(finished));
    const messages = callMessages("a", JSON.stringify({ n: 3, ok: true, tags: ["a"] }));
    await show(server, ...snapshot(messages), interrupted(editable("a")));
    await click("Edit arguments");
    const field = await screen.findByLabelText(/^n/);
    expect(field).toHaveValue("3");
    await userEvent.clear(field);
    await userEvent.type(field, "4");
    await click("Approve with changes");
    expect(await screen.findByText("Approved with changes")).toBeVisible();
    expect(sent(server)?.[0]?.payload).toEqual({
      approved: true,
      editedArgs: { n: 4, ok: true, tags: ["a"] },
    });
  });

  it("[J6] edits as checked JSON, where an empty object is a full replacement", async () => {
    const server = new ScriptedServer().onRun(run(finished));
    const free = editable("a");
    const properties = { approved: { type: "boolean" }, editedArgs: { type: "object" } };
    await show(
      server,
      ...snapshot(callMessages("a", '{"n":3}')),
      interrupted({ ...free, responseSchema: { ...free.responseSchema, properties } }),
    );
    await click("Edit arguments");
    await click("Edit as JSON");
    const text = screen.getByLabelText("Arguments as JSON");
    await userEvent.clear(text);
    await userEvent.type(text, "{{");
    await click("Approve with changes");
    expect(screen.getByText("This is not JSON yet.")).toBeVisible();
    expect(server.runs).toEqual([]);
    await userEvent.type(text, "}");
    await click("Approve with changes");
    await screen.findByText("Approved with changes");
    expect(sent(server)?.[0]?.payload).toEqual({ approved: true, editedArgs: {} });
  });

  it("[CL-15] shows the server's complaint at the edited field, and keeps what was typed", async () => {
    const problems = [{ pointer: "/editedArgs/n", message: "must be odd" }];
    const server = new ScriptedServer().onRun(
      run(refusal("invalid_payload", { interrupts: [{ interruptId: "a", problems }] })),
      run(finished),
    );
    await show(server, ...snapshot(callMessages("a", '{"n":3}')), interrupted(editable("a")));
    await click("Edit arguments");
    const field = await screen.findByLabelText(/^n/);
    await userEvent.clear(field);
    await userEvent.type(field, "4");
    await click("Approve with changes");
    const complaint = await screen.findByText("must be odd");
    expect(field).toHaveValue("4");
    expect(field).toHaveAccessibleDescription(complaint.textContent);
    expect(screen.getByRole("alert")).toHaveTextContent("That answer does not fit the question.");
    expect(screen.queryByRole("button", { name: "Try again" })).toBeNull();
    await userEvent.clear(field);
    await userEvent.type(field, "5");
    await click("Approve with changes");
    await screen.findByText("Approved with changes");
  });
});

describe("focus and live regions", () => {
  it("[T2] stay with the card: the status is there from the start and gets the focus after a decision", async () => {
    const hold = deferred();
    const server = new ScriptedServer().onRun(heldRun([], hold.promise, [finished]));
    await show(server, ...asked(approval("a")));
    const status = within(screen.getByRole("region")).getByRole("status");
    expect(status).toBeEmptyDOMElement();
    button("Approve").focus();
    await userEvent.keyboard("{Enter}");
    await waitFor(() => {
      expect(status).toHaveTextContent("Sending…");
      expect(status).toHaveFocus();
    });
    hold.resolve();
    await waitFor(() => {
      expect(status).toHaveTextContent("Approved");
      expect(status).toHaveFocus();
    });
  });

  it("[CL-07] offers to send the same again, or to change it, after a failure", async () => {
    const server = new ScriptedServer().onRun(
      () => new Response("{}", { status: 500 }),
      run(finished),
    );
    await show(server, ...asked(approval("a")));
    await click("Approve");
    expect(await screen.findByText(/HTTP 500/)).toBeVisible();
    expect(button("Change")).toBeVisible();
    await click("Try again");
    await screen.findByText("Approved");
    expect(server.runs[1]?.body.resume).toEqual(server.runs[0]?.body.resume);
  });
});

describe("what the server refuses for good", () => {
  const problem = (status: number, code: string) => () =>
    Response.json({ title: "No", detail: `no: ${code}`, code }, { status });

  it.each([
    ["who may not", problem(403, "not_an_approver")],
    ["too large", problem(413, "request_too_large")],
    ["by the run's own word", run(refusal("not_an_approver"))],
  ])("is not offered to be tried again (%s), but the answer to be changed", async (_, reply) => {
    const server = new ScriptedServer().onRun(reply, run(finished));
    await show(server, ...asked(approval("a")));
    await click("Approve");
    expect(await screen.findByText("Not sent.")).toBeVisible();
    expect(screen.queryByRole("button", { name: "Try again" })).toBeNull();
    await click("Change");
    await click("Withdraw request");
    await screen.findByText("Withdrawn");
    expect(sent(server)).toEqual([{ interruptId: "a", status: "cancelled" }]);
  });

  it.each([problem(429, "too_many"), problem(409, "thread_busy"), problem(503, "x")])(
    "is told from what may pass",
    async (reply) => {
      await show(new ScriptedServer().onRun(reply), ...asked(approval("a")));
      await click("Approve");
      expect(await screen.findByRole("button", { name: "Try again" })).toBeVisible();
    },
  );
});

describe("the rule that asks", () => {
  const ruled = (rule: string) =>
    approval("a", { metadata: { sayso: { tool: "issue_refund", rule } } });

  it("stands on the card by the name that its author gave it", async () => {
    await show(new ScriptedServer(), ...asked(ruled("large-refunds")));
    const card = screen.getByRole("region");
    expect(card).toHaveTextContent("Asked by rule large-refunds");
  });

  it("is named once, where the reason names it already", async () => {
    const sayso = {
      tool: "issue_refund",
      rule: "when:large",
      because: "Rule 'large' asks about this call.",
    };
    await show(new ScriptedServer(), ...asked(approval("a", { metadata: { sayso } })));
    expect(screen.getByRole("region")).not.toHaveTextContent("Asked by");
  });

  it.each(["always", "always#2", "by_effect:beyond", "when:<lambda>", "issue_refund"])(
    "is not mentioned where nobody named it: %s",
    async (rule) => {
      await show(new ScriptedServer(), ...asked(ruled(rule)));
      expect(screen.getByRole("region")).not.toHaveTextContent("Asked by");
    },
  );
});

describe("several questions", () => {
  it("[CL-01] [RE-16] are answered one by one, can be changed, and leave together", async () => {
    const server = new ScriptedServer().onRun(run(finished));
    await show(server, ...asked(approval("a"), approval("b"), approval("c")));
    const [a, b, c] = screen.getAllByRole("region");
    await userEvent.click(within(a!).getByRole("button", { name: "Approve" }));
    const send = await screen.findByRole("button", { name: "Send 3 answers" });
    expect(send).toBeDisabled();
    expect(within(a!).getByRole("status")).toHaveTextContent("Approved · not sent yet");
    expect(screen.getByText("1 of 3 answered")).toBeVisible();
    await userEvent.click(within(b!).getByRole("button", { name: "Approve" }));
    await userEvent.click(within(b!).getByRole("button", { name: "Change" }));
    await userEvent.click(within(b!).getByRole("button", { name: "Deny" }));
    await userEvent.click(within(b!).getByRole("button", { name: "Confirm denial" }));
    // Nothing is decided before it is sent: a no looks neither like a yes nor like one that holds.
    expect([a!, b!].map((element) => element.dataset.tone)).toEqual(["wait", "wait"]);
    await userEvent.click(within(c!).getByRole("button", { name: "Withdraw request" }));
    expect(server.runs).toEqual([]);
    await userEvent.click(send);
    await waitFor(() => {
      expect(server.runs).toHaveLength(1);
    });
    expect(sent(server)).toEqual([
      { interruptId: "a", status: "resolved", payload: { approved: true } },
      { interruptId: "b", status: "resolved", payload: { approved: false } },
      { interruptId: "c", status: "cancelled" },
    ]);
  });
});

describe("other kinds of question", () => {
  const plain = (more: Partial<Interrupt>): Interrupt => ({ id: "a", reason: "x:y", ...more });

  it("[IN-07] a confirmation without a schema is answered with a bare boolean", async () => {
    const server = new ScriptedServer().onRun(run(finished));
    await show(server, ...asked(plain({ reason: "confirmation", message: "Sure?" })));
    await click("No");
    await screen.findByText("Denied");
    expect(sent(server)?.[0]?.payload).toBe(false);
  });

  it("a confirmation takes a note along", async () => {
    const server = new ScriptedServer().onRun(run(finished));
    const properties = {
      approved: { type: "boolean" },
      note: { anyOf: [{ type: "string" }, { type: "null" }], title: "Note" },
    };
    const responseSchema = { type: "object", properties, required: ["approved"] };
    await show(server, ...asked(plain({ reason: "confirmation", responseSchema })));
    await userEvent.type(screen.getByLabelText("Note (optional)"), "go on");
    await click("Approve");
    await screen.findByText("Approved");
    expect(sent(server)?.[0]?.payload).toEqual({ approved: true, note: "go on" });
  });

  it("[IN-12] [IN-13] [SE-04] an unknown reason without a schema takes free text, and shows markup as text", async () => {
    const server = new ScriptedServer().onRun(run(finished));
    await show(server, ...asked(plain({ reason: "acme:odd", message: "<i>Name?</i>" })));
    expect(screen.getByText("<i>Name?</i>")).toBeVisible();
    await userEvent.type(screen.getByLabelText("Your answer"), "Ada");
    await click("Answer");
    await screen.findByText("Answered");
    expect(sent(server)?.[0]?.payload).toBe("Ada");
  });

  it("a choice hides no character: not in a title, a consequence or the button", async () => {
    const oneOf = [
      { const: "keep", title: "Keep\u202eit", description: "All\u200bof it." },
      { const: "drop", title: "Drop\u001bit" },
    ];
    const responseSchema = {
      type: "object",
      properties: { action: { oneOf }, note: { type: "string" } },
      required: ["action"],
    };
    await show(new ScriptedServer(), ...asked(plain({ reason: "sayso:decision", responseSchema })));
    await userEvent.click(screen.getByLabelText(/KeepU\+202Eit.*AllU\+200Bof it/));
    expect(screen.getByRole("button", { name: /Keep\s*U\+202E\s*it/ })).toBeVisible();
    expect(screen.getByLabelText("DropU+001Bit")).toBeVisible();
    for (const hidden of ["\u202e", "\u200b", "\u001b"]) {
      expect(document.body.innerHTML).not.toContain(hidden);
    }
  });

  it("a choice sends its action, and what the schema asks for with it", async () => {
    const server = new ScriptedServer().onRun(run(finished));
    const oneOf = [
      { const: "run_again", title: "Run it again" },
      { const: "skip", title: "It happened", description: "Continue with the result." },
    ];
    const responseSchema = {
      type: "object",
      properties: { action: { oneOf }, result: { type: "string", title: "Result" } },
      required: ["action"],
      if: { properties: { action: { const: "skip" } } },
      then: { required: ["result"] },
    };
    await show(server, ...asked(plain({ reason: "sayso:indeterminate", responseSchema })));
    await click("Continue");
    expect(screen.getByText("Choose an option first.")).toBeVisible();
    await userEvent.click(screen.getByLabelText(/It happened/));
    const result = await screen.findByLabelText(/^Result/);
    await click("It happened");
    expect(await screen.findByText("Required.")).toBeVisible();
    await userEvent.type(result, "paid");
    await click("It happened");
    await waitFor(() => {
      expect(sent(server)?.[0]?.payload).toEqual({ action: "skip", result: "paid" });
    });
  });

  it("[CL-12] an expired question can only be cancelled", async () => {
    vi.useFakeTimers({ now: Date.parse("2026-01-01T00:00:00Z"), shouldAdvanceTime: true });
    const user = userEvent.setup({ advanceTimers: vi.advanceTimersByTime });
    const server = new ScriptedServer().onRun(run(finished));
    await show(server, ...asked(approval("a", { expiresAt: "2026-01-01T00:01:00Z" })));
    expect(screen.getByRole("timer")).toHaveTextContent("Less than 1 min 00 s left");
    await act(() => vi.advanceTimersByTimeAsync(61_000));
    expect(screen.getByText("Expired")).toBeVisible();
    expect(screen.queryByRole("button", { name: "Approve" })).toBeNull();
    await user.click(button("Withdraw request"));
    await screen.findByText("Withdrawn");
    expect(sent(server)).toEqual([{ interruptId: "a", status: "cancelled" }]);
  });

  it("[Q1] [A10] an answer that comes too late says who was first", async () => {
    const named = [{ interruptId: "a", by: "kim" }];
    const server = new ScriptedServer().onRun(
      run(refusal("already_resolved", { interrupts: named })),
    );
    await show(server, ...asked(approval("a")));
    server.onConnect(run(...snapshot(), finished));
    await click("Approve");
    expect(await screen.findByText("Answered by kim")).toBeVisible();
    expect(screen.queryByRole("button")).toBeNull();
  });
});
