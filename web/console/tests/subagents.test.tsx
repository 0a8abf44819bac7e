import { render, screen, within } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { StrictMode } from "react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { App } from "../src/App.js";
import { subagentLabels } from "../src/subagents.js";
import { ending, FakeServer } from "./server.js";

const called = (id: string) => ({
  id: `m-${id}`,
  role: "assistant",
  subagentRunId: id,
  content: `I am ${id}.`,
});
const asks = (id: string) => ({
  id: `q-${id}`,
  reason: "confirmation",
  message: `May ${id} go on?`,
  subagentRunId: id,
  metadata: { sayso: { path: ["warehouse"] } },
});

function open(path: string): void {
  window.history.replaceState(null, "", path);
  render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  Element.prototype.scrollIntoView = () => undefined;
});
afterEach(() => {
  vi.unstubAllGlobals();
  sessionStorage.clear();
});

const inner = (id: string, description: string) => [
  { type: "SUBAGENT_STARTED", subagentRunId: id, name: "warehouse", description },
  { type: "TEXT_MESSAGE_START", messageId: `m-${id}`, role: "assistant", subagentRunId: id },
  { type: "TEXT_MESSAGE_CONTENT", messageId: `m-${id}`, delta: `I am ${id}.`, subagentRunId: id },
  { type: "TEXT_MESSAGE_END", messageId: `m-${id}`, subagentRunId: id },
  { type: "SUBAGENT_FINISHED", subagentRunId: id, outcome: { type: "suspended" } },
];

it("[CL-17] the playground says which of two subagents of one name speaks, asks and waits", async () => {
  const server = new FakeServer().install();
  server.runs.push(() => [
    ...inner("s1", "Lyon"),
    ...inner("s2", "Turin"),
    ending(asks("s1"), asks("s2")),
  ]);
  open("/play/ops/t-1");
  await userEvent.click(await screen.findByRole("button", { name: /^Ask the nested/ }));
  const first = await screen.findByRole("region", { name: "warehouse 1" });
  expect(within(first).getByText("I am s1.")).toBeVisible();
  expect(within(first).getByText("Lyon")).toBeVisible();
  const second = screen.getByRole("region", { name: "warehouse 2" });
  expect(within(second).getByText("I am s2.")).toBeVisible();
  const cards = screen.getByRole("group", { name: "2 questions" });
  expect(cards).toHaveTextContent(/warehouse 1.*Lyon.*May s1.*warehouse 2.*Turin.*May s2/);
  const waiting = within(screen.getByRole("region", { name: "Subagents" }));
  expect(waiting.getAllByRole("listitem").map((element) => element.textContent)).toEqual([
    "warehouse 1Lyonwaiting for you",
    "warehouse 2Turinwaiting for you",
  ]);
});

it("[CL-17] a thread's page names them by its journal, and counts what each has asked", async () => {
  const delegate = (id: string) => ({
    place: id,
    kind: "delegate",
    name: "warehouse",
    status: "done",
    data: { id },
  });
  const question = { status: "open", createdAt: "2026-01-01T00:00:00Z" };
  const match: Record<string, unknown> = {
    "/threads/t-1/state": {
      threadId: "t-1",
      next: [],
      values: {},
      metadata: { agent: "ops", status: "suspended", openInterrupts: 1 },
      journal: [delegate("s1"), delegate("s2")],
    },
    "/threads/t-1/history": {
      runs: [],
      messages: [called("s1"), called("s2"), { id: "z", role: "assistant", content: "Done." }],
      interrupts: [
        { ...asks("s2"), ...question },
        { ...asks("s2"), ...question, id: "q-2", status: "cancelled" },
      ],
    },
  };
  vi.stubGlobal("fetch", (address: string) => {
    const body = match[new URL(address).pathname];
    const status = body === undefined ? 404 : 200;
    return Promise.resolve(Response.json(body ?? {}, { status }));
  });
  open("/thread/ops/t-1");
  const listed = within(await screen.findByRole("region", { name: "Subagents" }));
  expect(listed.getAllByRole("listitem").map((element) => element.textContent)).toEqual([
    "warehouse 1no questions",
    "warehouse 21 question open",
  ]);
  const timeline = screen.getByRole("list", { name: "Timeline" });
  expect(timeline).toHaveTextContent(/asked by warehouse 2/);
  const spoken = screen.getByRole("region", { name: "warehouse 2" });
  expect(within(spoken).getByText("I am s2.")).toBeVisible();
  expect(within(spoken).queryByText("Done.")).toBeNull();
});

it("subagents without a name are told apart too, and one alone has no number", () => {
  const item = (id: string, name: string | null) => ({ id, name, description: null });
  const names = [
    ...subagentLabels([item("a", null), item("b", null), item("c", "mails")]).values(),
  ];
  expect(names.map(({ name }) => name)).toEqual(["Subagent 1", "Subagent 2", "mails"]);
});
