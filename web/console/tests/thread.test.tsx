import { render, screen, waitFor, within } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { StrictMode } from "react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { App } from "../src/App.js";
import { readRow, readThread } from "../src/thread/records.js";
import { timelineOf } from "../src/thread/timeline.js";

const at = (second: number) => `2026-01-01T00:00:0${second}Z`;
const run = (runId: string, from: number, to: number, type: string) => ({
  runId,
  startedAt: at(from),
  endedAt: at(to),
  outcome: { type },
});
const question = (id: string, more: Record<string, unknown> = {}) => ({
  id,
  reason: "tool_call",
  toolCallId: `call-${id}`,
  message: `May I run ${id}?`,
  metadata: { sayso: { tool: "pay", arguments: { amount: 3 } } },
  status: "open",
  createdAt: at(0),
  responseSchema: { type: "object", properties: { approved: { type: "boolean" } } },
  ...more,
});
const decided = (status: string, answer: Record<string, unknown>) => ({
  status,
  answer: { held: false, status, by: "eve", at: at(1), channel: "inbox", ...answer },
});

const thread = () => ({
  state: {
    threadId: "t-1",
    next: ["pay"],
    values: { order: "A-17" },
    metadata: { agent: "ops", status: "suspended", running: false, openInterrupts: 1 },
    journal: [{ place: "0", kind: "call", name: "pay", status: "begun", data: { key: "k" } }],
  },
  history: {
    runs: [run("r1", 0, 0, "interrupt"), run("r2", 1, 2, "success")],
    messages: [{ id: "m1", role: "user", content: "pay <b>now</b>" }],
    interrupts: [
      question("a", decided("resolved", { payload: { approved: false, reason: "too much" } })),
      question("b"),
    ],
  },
});

let posted: string[] = [];

function open(path: string, data = thread()): void {
  posted = [];
  vi.stubGlobal("fetch", (address: string, init?: RequestInit) => {
    const { pathname } = new URL(address);
    if (init?.method === "POST") {
      posted.push(pathname);
      data.state.metadata = { ...data.state.metadata, status: "cancelled", openInterrupts: 0 };
      return Promise.resolve(Response.json({ stopped: true }));
    }
    const match: Record<string, unknown> = {
      "/threads": {
        items: [{ threadId: "t-1", agent: "ops", status: "suspended", openInterrupts: 1 }],
      },
      "/threads/t-1/state": data.state,
      "/threads/t-1/history": data.history,
    };
    const body = match[pathname];
    return Promise.resolve(
      body === undefined
        ? Response.json(
            { detail: "There is no such thread: GET /threads lists yours.", code: "x" },
            { status: 404 },
          )
        : Response.json(body),
    );
  });
  window.history.replaceState(null, "", path);
  render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.unstubAllGlobals();
});

describe("the page of a thread", () => {
  it("shows runs, questions and decisions in order, with who and when", async () => {
    open("/thread/ops/t-1");
    const timeline = await screen.findByRole("list", { name: "Timeline" });
    const texts = within(timeline)
      .getAllByRole("listitem")
      .map((element) => element.textContent);
    expect(texts[0]).toContain("Run started r1");
    expect(texts[1]).toContain("Approval pay amount 3");
    expect(texts[2]).toContain("Answer in the inbox");
    expect(texts[3]).toContain("Run waits for answers");
    expect(texts[4]).toMatch(/Denied.*by eve in the inbox.*too much/);
    expect(texts[5]).toContain("Run started r2");
    expect(texts[6]).toContain("Run finished");
    expect(screen.getByRole("link", { name: "Answer in the inbox" })).toHaveAttribute(
      "href",
      "/inbox/b",
    );
  });

  it("says by whom and why it is on hold", async () => {
    const data = thread();
    const hold = { by: "kay", reason: "case <b>7</b>", at: at(3) };
    Object.assign(data.state.metadata, { hold });
    open("/thread/ops/t-1", data);
    const words = (await screen.findByText("On hold")).closest("p");
    expect(words).toHaveTextContent(/On hold by kay since .*: case <b>7<\/b> It cannot be deleted/);
    expect([{ onHold: true }, { hold }, {}].map((row) => readRow(row).onHold)).toEqual([
      true,
      true,
      false,
    ]);
  });

  it("shows messages as text, the state, what comes next and the journal", async () => {
    open("/thread/ops/t-1");
    expect(await screen.findByText("pay <b>now</b>")).toBeVisible();
    expect(screen.getByLabelText("State", { selector: "dl" })).toHaveTextContent("A-17");
    const journal = screen.getByRole("list", { name: "Journal" });
    await userEvent.click(within(journal).getByText("begun"));
    expect(within(journal).getByText("k")).toBeVisible();
    expect(screen.getByText(/Recorded in this turn/)).toBeVisible();
  });

  it.each([
    ["finished", true, "Recorded in the last turn. Kept until the next one starts."],
    ["finished", false, "The last turn recorded nothing."],
    ["suspended", false, "Nothing is recorded in this turn yet."],
  ])("says of which turn the journal is: %s, %s", async (status, any, words) => {
    const data = thread();
    const metadata = { ...data.state.metadata, status, turnId: "turn-1", openInterrupts: 0 };
    data.state.metadata = metadata;
    if (!any) data.state.journal = [];
    open("/thread/ops/t-1", data);
    expect(await screen.findByText(words)).toBeVisible();
    expect(screen.queryAllByRole("list", { name: "Journal" })).toHaveLength(any ? 1 : 0);
  });

  it("says on which day something happened, once for each day", async () => {
    vi.setSystemTime(new Date("2027-03-01T12:00:00Z"));
    open("/thread/ops/t-1");
    const timeline = await screen.findByRole("list", { name: "Timeline" });
    expect(within(timeline).getAllByText(/2026|2025/)).toHaveLength(1);
    vi.useRealTimers();
  });

  it("is stopped only when that is said twice, and then says so", async () => {
    open("/thread/ops/t-1");
    await userEvent.click(await screen.findByRole("button", { name: "Stop" }));
    const sure = screen.getByRole("button", { name: "Stop and withdraw 1" });
    expect(sure).toHaveFocus();
    await userEvent.keyboard("{Escape}");
    expect(screen.getByRole("button", { name: "Stop" })).toHaveFocus();
    expect(posted).toEqual([]);
    await userEvent.click(screen.getByRole("button", { name: "Stop" }));
    await userEvent.keyboard("{Enter}");
    await waitFor(() => {
      expect(posted).toEqual(["/threads/t-1/stop"]);
    });
    expect(await screen.findByText("Stopped")).toBeVisible();
    expect(screen.queryByRole("button", { name: "Stop" })).toBeNull();
    await waitFor(() => {
      expect(screen.getByRole("main")).toHaveFocus();
    });
  });

  it("says when there is no such thread, and leads to the list", async () => {
    open("/thread/ops/none");
    expect(await screen.findByRole("heading", { name: "Conversation not found" })).toBeVisible();
    expect(screen.getByText(/was deleted, or it is not yours/)).toBeVisible();
    expect(screen.queryByText(/GET /)).toBeNull();
    await userEvent.click(screen.getByRole("button", { name: "All conversations" }));
    const row = await screen.findByRole("link", { name: /ops.*t-1.*1 question open/ });
    await userEvent.click(row);
    expect(await screen.findByRole("list", { name: "Timeline" })).toBeVisible();
  });
});

it("a timeline within one millisecond keeps the order of cause and effect", () => {
  const data = thread();
  data.history.runs = [run("r1", 0, 0, "interrupt"), run("r2", 0, 0, "success")];
  const answered = decided("resolved", { payload: { approved: true }, at: at(0) });
  data.history.interrupts = [question("a", answered)];
  const read = readThread(data.history.runs, data.history, data.state);
  expect(timelineOf(read).map((timeline) => timeline.key)).toEqual([
    "began:r1",
    "asked:a",
    "ended:r1",
    "decided:a",
    "began:r2",
    "ended:r2",
  ]);
});

describe("what the server does not show", () => {
  const refusing = (status: number) => {
    const reply = () => Response.json({ detail: "Not for you.", code: "forbidden" }, { status });
    vi.stubGlobal("fetch", () => Promise.resolve(reply()));
    history.replaceState(null, "", "/thread");
    render(<App />);
  };

  it.each([403, 413])(
    "is not offered to be tried again where that cannot help: %i",
    async (status) => {
      refusing(status);
      expect(await screen.findByText("Not for you.")).toBeVisible();
      expect(screen.queryByRole("button", { name: "Try again" })).toBeNull();
    },
  );

  it("is offered to be tried again where the server was only busy", async () => {
    refusing(503);
    expect(await screen.findByRole("button", { name: "Try again" })).toBeVisible();
  });
});
