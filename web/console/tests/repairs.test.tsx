import { render, screen, waitFor, within } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { StrictMode } from "react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { App } from "../src/App.js";
import { nullsIn, patchOf } from "../src/thread/mergePatch.js";

const AT = "2026-01-01T00:00:00Z";

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

type Reply = (sent: Sent) => Response;

/** One thread that waits, with what a test changes of it, and what it was asked to do. */
class Shelf {
  readonly sent: Sent[] = [];
  values: unknown = { order: "A-17", note: null };
  metadata: Record<string, unknown> = {
    agent: "ops",
    status: "suspended",
    running: false,
    openInterrupts: 1,
    turnId: "turn-1",
  };
  audit: Record<string, unknown>[] = [];
  chain: Record<string, unknown> = { rows: 2, intact: true };
  reply: Reply = () => Response.json({}, { status: 500 });

  open(): void {
    vi.stubGlobal("fetch", (address: string, init?: RequestInit) => {
      const { pathname, searchParams } = new URL(address);
      const method = init?.method ?? "GET";
      if (method !== "GET") {
        const sent = { method, path: pathname, body: JSON.parse(init?.body as string) as unknown };
        this.sent.push(sent);
        return Promise.resolve(this.reply(sent));
      }
      return Promise.resolve(this.#get(pathname, searchParams));
    });
    window.history.replaceState(null, "", "/thread/ops/t-1");
    render(
      <StrictMode>
        <App />
      </StrictMode>,
    );
  }

  #get(path: string, query: URLSearchParams): Response {
    const [, , threadId, what] = path.split("/");
    if (path.startsWith("/threads/") && what === "state") {
      const { values, metadata } = this;
      return Response.json({ threadId, next: [], values, metadata, journal: [] });
    }
    if (path.startsWith("/threads/") && what === "history") {
      const list = ["turn-0", "turn-1"].map((turnId, index) => ({
        id: `int_${index}`,
        turnId,
        reason: "confirmation",
        message: `Question ${index}?`,
        createdAt: AT,
        status: index === 0 ? "cancelled" : "open",
      }));
      return Response.json({ runs: [], messages: [], interrupts: list });
    }
    if (path === "/audit") {
      const from = Number(query.get("cursor") ?? "0");
      const items = this.audit.slice(from, from + 2);
      const more = from + 2 < this.audit.length ? { nextCursor: String(from + 2) } : {};
      return Response.json({ items, ...more });
    }
    if (path === "/audit/t-1") return Response.json({ threadId: "t-1", ...this.chain });
    return Response.json({ detail: "There is no such thing." }, { status: 404 });
  }
}

let shelf: Shelf;

beforeEach(() => {
  shelf = new Shelf();
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.unstubAllGlobals();
});

async function write(text: string): Promise<void> {
  const editor = screen.getByRole("textbox", { name: "State as JSON" });
  await userEvent.clear(editor);
  await userEvent.click(editor);
  await userEvent.paste(text);
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
}

describe("the state of a waiting thread", () => {
  it("is edited as JSON, and only what was changed is sent", async () => {
    shelf.values = { order: "A-17", note: null, gone: 1, deep: { a: 1, b: 2 } };
    shelf.reply = () => Response.json({});
    shelf.open();
    await userEvent.click(await screen.findByRole("button", { name: "Edit state" }));
    expect(screen.getByRole("textbox", { name: "State as JSON" })).toHaveFocus();
    await write('{"order": "B-2", "note": null, "deep": {"a": 1, "b": [null]}}');
    await screen.findByText(/Saved\. The agent continues with it/);
    expect(shelf.sent).toEqual([
      {
        method: "PATCH",
        path: "/threads/t-1/state",
        body: { values: { order: "B-2", gone: null, deep: { b: [null] } } },
      },
    ]);
    await waitFor(() => {
      expect(screen.getByRole("button", { name: "Edit state" })).toHaveFocus();
    });
  });

  it("is not sent while it is no JSON, no object, or has a null that cannot be said", async () => {
    shelf.open();
    await userEvent.click(await screen.findByRole("button", { name: "Edit state" }));
    await write('{"order": ');
    expect(screen.getByText("This is not JSON yet.")).toBeVisible();
    await write("[1]");
    expect(screen.getByRole("textbox", { name: "State as JSON" })).toBeInvalid();
    await write('{"order": null, "note": null}');
    expect(screen.getByText(/cannot be set to null by hand/)).toBeVisible();
    expect(shelf.sent).toEqual([]);
    await write('{"order": "A-17", "note": null}');
    expect(shelf.sent).toEqual([]);
    expect(screen.queryByRole("textbox", { name: "State as JSON" })).toBeNull();
  });

  it("keeps what was written, with the server's complaints, when it is refused", async () => {
    shelf.reply = () =>
      Response.json(
        {
          code: "invalid_payload",
          detail: "The state would not be one of agent 'ops' any more.",
          errors: [{ pointer: "/values/order", message: "is too short" }],
        },
        { status: 422 },
      );
    shelf.open();
    await userEvent.click(await screen.findByRole("button", { name: "Edit state" }));
    await write('{"order": "", "note": null}');
    expect(await screen.findByText(/is too short/)).toHaveTextContent("order is too short");
    expect(screen.getByText(/would not be one of agent/)).toBeVisible();
    const editor = screen.getByRole("textbox", { name: "State as JSON" });
    expect(editor).toHaveValue('{"order": "", "note": null}');
    await userEvent.type(editor, " ");
    expect(screen.queryByText(/is too short/)).toBeNull();
    await userEvent.click(screen.getByRole("button", { name: "Discard changes" }));
    expect(screen.getByLabelText("State", { selector: "dl" })).toHaveTextContent("A-17");
  });

  it("cannot be edited once the turn is over, only copied", async () => {
    shelf.metadata = { ...shelf.metadata, status: "finished", openInterrupts: 0 };
    shelf.open();
    await screen.findByText("A-17");
    expect(screen.queryByRole("button", { name: "Edit state" })).toBeNull();
    expect(screen.getByRole("button", { name: "Fork from this question" })).toBeVisible();
  });
});

describe("a copy of a thread", () => {
  it("is made at a question of the turn that waits, and gone to", async () => {
    shelf.reply = () => {
      shelf.metadata = { ...shelf.metadata, forkedFrom: { threadId: "t-1", interruptId: "int_1" } };
      return Response.json({ threadId: "t-2" }, { status: 201 });
    };
    shelf.open();
    // The question of the turn before has none: its journal is gone.
    await userEvent.click(await screen.findByRole("button", { name: "Fork from this question" }));
    expect(await screen.findByRole("heading", { name: "ops t-2" })).toBeVisible();
    expect(window.location.pathname).toBe("/thread/ops/t-2");
    expect(shelf.sent).toEqual([
      { method: "POST", path: "/threads/t-1/fork", body: { interruptId: "int_1" } },
    ]);
    expect(screen.getByRole("link", { name: "t-1" })).toHaveAttribute("href", "/thread/ops/t-1");
    await waitFor(() => {
      expect(screen.getByRole("main")).toHaveFocus();
    });
  });

  it("says why there is none", async () => {
    shelf.reply = () =>
      Response.json({ detail: "The turn that asked this is over." }, { status: 409 });
    shelf.open();
    await userEvent.click(await screen.findByRole("button", { name: "Fork from this question" }));
    expect(await screen.findByText("The turn that asked this is over.")).toBeVisible();
    expect(window.location.pathname).toBe("/thread/ops/t-1");
  });
});

describe("a turn whose code has changed", () => {
  beforeEach(() => {
    shelf.metadata = {
      ...shelf.metadata,
      problem: { code: "replay_mismatch", message: "At 0 the code asks for something else." },
      repeats: ["look", "charge"],
    };
  });

  it("begins anew only when it was said what that repeats", async () => {
    shelf.reply = () => {
      shelf.metadata = { ...shelf.metadata, problem: undefined, repeats: undefined };
      return Response.json({ runId: "r-2", repeats: ["look", "charge"] });
    };
    shelf.open();
    expect(await screen.findByText("At 0 the code asks for something else.")).toBeVisible();
    await userEvent.click(screen.getByRole("button", { name: "Restart the turn…" }));
    const repeats = screen.getByRole("list", { name: "May happen again" });
    expect(
      within(repeats)
        .getAllByRole("listitem")
        .map((element) => element.textContent),
    ).toEqual(["look", "charge"]);
    expect(screen.getByRole("button", { name: "Restart and repeat 2" })).toHaveFocus();
    await userEvent.keyboard("{Escape}");
    expect(screen.getByRole("button", { name: "Restart the turn…" })).toHaveFocus();
    expect(shelf.sent).toEqual([]);
    await userEvent.keyboard("{Enter}");
    await userEvent.keyboard("{Enter}");
    await waitFor(() => {
      expect(screen.queryByText("At 0 the code asks for something else.")).toBeNull();
    });
    expect(shelf.sent.map((sent) => sent.path)).toEqual(["/threads/t-1/restart"]);
    await waitFor(() => {
      expect(screen.getByRole("main")).toHaveFocus();
    });
  });

  it("stays as it is when the server does not do it, with the reason", async () => {
    shelf.reply = () => Response.json({ detail: "Agent 'ops' is not served." }, { status: 404 });
    shelf.open();
    await userEvent.click(await screen.findByRole("button", { name: "Restart the turn…" }));
    await userEvent.keyboard("{Enter}");
    expect(await screen.findByText("Agent 'ops' is not served.")).toBeVisible();
    expect(screen.getByRole("button", { name: "Restart and repeat 2" })).toBeEnabled();
  });
});

describe("the audit of a thread", () => {
  const row = (number: number, kind: string, content?: Record<string, unknown>) => ({
    number,
    kind,
    at: AT,
    digest: `seal-${number}`,
    ...(content !== undefined && { content }),
  });
  const unfold = async () => {
    await userEvent.click(await screen.findByText(/each row sealed/));
    return screen.findByRole("list", { name: "Audit" });
  };

  it("shows its rows, and that they are as they were written", async () => {
    const asked = { interruptId: "int_1", reason: "tool_call" };
    shelf.audit = [
      row(1, "asked", { ...asked, message: "<b>Pay?</b>" }),
      row(2, "resolved", { ...asked, by: "eve", payload: { approved: true } }),
      row(3, "executed", { tool: "pay" }),
    ];
    shelf.chain = { rows: 3, intact: true };
    shelf.open();
    const list = await unfold();
    expect(screen.getByText("Intact: 3 rows, all unchanged.")).toBeVisible();
    const texts = () =>
      within(list)
        .getAllByRole("listitem")
        .map((element) => element.textContent);
    expect(texts()[0]).toContain("<b>Pay?</b>");
    expect(texts()[1]).toContain("AnsweredApprovalby eve");
    expect(texts()[1]).toContain("seal-2");
    await userEvent.click(screen.getByRole("button", { name: "Show more" }));
    await waitFor(() => {
      expect(texts()[2]).toContain("Donepay");
    });
    expect(screen.queryByRole("button", { name: "Show more" })).toBeNull();
  });

  it("says why a run was stopped, and by whom", async () => {
    shelf.audit = [row(1, "stopped", { run: "run_1", why: "The run was stopped.", by: "eve" })];
    shelf.chain = { rows: 1, intact: true };
    shelf.open();
    const [stopped] = within(await unfold()).getAllByRole("listitem");
    expect(stopped).toHaveTextContent("Stoppedby eveThe run was stopped.");
  });

  it("says which row is changed since it was written", async () => {
    shelf.audit = [row(1, "asked", { reason: "confirmation" }), row(2, "resolved")];
    shelf.chain = { rows: 1, intact: false, brokenAt: 2 };
    shelf.open();
    const list = await unfold();
    expect(screen.getByText(/Broken: row 2 was changed after it was written/)).toBeVisible();
    const [first, second] = within(list).getAllByRole("listitem");
    expect(first).not.toHaveTextContent("changed since it was written");
    expect(second).toHaveTextContent("changed since it was written");
    expect(second).toHaveTextContent("This is not what was written, so it is not shown.");
  });

  it("says as whom somebody decided, and how they were known", async () => {
    const issuer = "https://login.example/realm";
    const authTime = Date.parse(AT) - 250_000;
    shelf.audit = [
      row(1, "resolved", {
        by: "eve",
        roles: ["lead"],
        channel: "inbox",
        proof: { issuer, authTime },
      }),
      row(2, "held", { answer: { by: "lea", roles: ["finance", "lead"], channel: "run" } }),
    ];
    shelf.chain = { rows: 2, intact: true };
    shelf.open();
    await unfold();
    expect(screen.getByRole("list", { name: "Proof of row 1", hidden: true })).toHaveTextContent(
      "As lead, signed in 4 minutes before by login.example, in the inbox",
    );
    expect(screen.getByRole("list", { name: "Proof of row 2", hidden: true })).toHaveTextContent(
      "lea: as finance, lead, in the conversation",
    );
  });

  it("says what was erased, which is not what was changed", async () => {
    shelf.audit = [{ ...row(1, "asked"), erased: true }];
    shelf.chain = { rows: 1, intact: true };
    shelf.open();
    const [only] = within(await unfold()).getAllByRole("listitem");
    expect(only).toHaveTextContent("Askederased");
    expect(only).toHaveTextContent("What stood here was erased.");
    expect(only).not.toHaveTextContent("not what was written");
  });

  it("shows the rows of one kind, or of one person, by the keyboard as well", async () => {
    shelf.audit = [row(1, "asked", { by: "eve" }), row(2, "assigned", { by: "eve", to: "lea" })];
    shelf.chain = { rows: 2, intact: true };
    shelf.open();
    const list = await unfold();
    const kinds = () =>
      within(list)
        .getAllByRole("listitem")
        .map((element) => element.querySelector("summary strong")?.textContent);
    expect(kinds()).toEqual(["Asked", "Assigned"]);
    await userEvent.selectOptions(screen.getByRole("combobox", { name: "Who" }), "lea");
    expect(kinds()).toEqual(["Assigned"]);
    expect(screen.getByText("1 of 2 rows")).toBeVisible();
    await userEvent.selectOptions(screen.getByRole("combobox", { name: "Who" }), "All");
    await userEvent.selectOptions(screen.getByRole("combobox", { name: "What" }), "Asked");
    expect(kinds()).toEqual(["Asked"]);
  });

  it("says what was shown to who decided, and what each signature is worth", async () => {
    const proof = { kind: "person", shown: "d1", argumentsAfter: "a" };
    const signed = { by: "lea", is: "valid", key: "k1", at: "2026-01-01T00:00:00.000Z" };
    shelf.audit = [
      { ...row(1, "resolved", { by: "lea", proof }), signatures: [signed] },
      {
        ...row(2, "resolved", { by: "leo", proof: { shown: null } }),
        signatures: [{ ...signed, by: "leo", is: "new" }],
      },
    ];
    shelf.chain = { rows: 2, intact: true, signatures: { valid: 1, unknown: 1 } };
    shelf.open();
    await unfold();
    expect(screen.getByText(/1 valid, 1 by keys that this server does not have/)).toBeVisible();
    const proofOf = (number: number) =>
      screen.getByRole("list", { name: `Proof of row ${number}`, hidden: true });
    expect(proofOf(1)).toHaveTextContent(
      "Shown what the trail has of the question, with other arguments",
    );
    expect(proofOf(1)).toHaveTextContent("signed by key k1 at 2026-01-01 00:00:00 UTC: valid.");
    expect(proofOf(2)).toHaveTextContent("By a client that did not say what it showed");
    expect(screen.getByText("signature of an unknown key")).toBeVisible();
  });

  it("says which question is kept otherwise than its row says", async () => {
    shelf.audit = [row(1, "resolved", { reason: "tool_call", by: "lea" })];
    const item = { interruptId: "int_1", member: "by", trail: "lea", record: "eve" };
    shelf.chain = { rows: 1, intact: true, differs: [item] };
    shelf.open();
    await unfold();
    expect(screen.getByText(/a question was changed afterwards/)).toBeVisible();
    expect(screen.queryByText(/Intact/)).toBeNull();
    expect(screen.getByRole("list", { name: "Differences" })).toHaveTextContent(
      'Who decided of int_1: the trail says "lea", the question "eve"',
    );
  });
});

it("a merge patch is what was changed, and finds nulls that it cannot say", () => {
  expect(patchOf({ a: 1, b: { c: null, d: 1 } }, { a: 1, b: { c: null, d: 2 } })).toEqual({
    b: { d: 2 },
  });
  expect(patchOf({ a: { b: 1 } }, { a: {} })).toEqual({ a: { b: null } });
  expect(patchOf({ a: [1] }, { a: { b: 1 }, c: {} })).toEqual({ a: { b: 1 }, c: {} });
  expect(patchOf(null, { a: 1 })).toEqual({ a: 1 });
  const own = JSON.parse('{"__proto__": 1}') as Record<string, unknown>;
  expect(JSON.stringify(patchOf({}, own))).toBe('{"__proto__":1}');
  expect(nullsIn({ a: null }, { a: null, b: [null] })).toEqual([]);
  expect(nullsIn({}, { "a/b": { "c~": null } }).map((problem) => problem.pointer)).toEqual([
    "/a~1b/c~0",
  ]);
});
