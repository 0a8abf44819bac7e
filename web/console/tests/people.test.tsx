import type { Interrupt } from "@ag-ui/client";
import { act, render, screen, waitFor, within } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { FakeServer, question, snapshots } from "./server.js";

const user = { id: "u1", role: "user", content: "pay" };
const refund: Interrupt = {
  id: "int_2",
  reason: "tool_call",
  toolCallId: "c1",
  message: "Approve the refund?",
  responseSchema: {
    type: "object",
    properties: { approved: { type: "boolean" }, reason: { type: "string" } },
    required: ["approved"],
  },
  metadata: { sayso: { tool: "refund", arguments: { amount: 3 } } },
};
const HEADING = { name: "Sign in to continue" };

let server: FakeServer;
let who: string | null;

async function open(path: string) {
  vi.resetModules();
  window.history.replaceState(null, "", path);
  const { App } = await import("../src/App.js");
  render(<App />);
}

/** The session of this browser is somebody else's now, or nobody's; the page hears of it. */
function nowItIs(subject: string | null) {
  who = subject;
  act(() => {
    const event = { key: "sayso-session", newValue: `${subject === null ? "ended" : "in"} 1` };
    window.dispatchEvent(new StorageEvent("storage", event));
  });
}

const message = () => screen.findByRole("textbox", { name: "Message" });
const reason = () => screen.findByRole("textbox", { name: /Reason/ });
const deny = async () => {
  await userEvent.click(await screen.findByRole("button", { name: "Deny" }));
};

beforeEach(() => {
  server = new FakeServer().install();
  server.connect = () => snapshots([user], question, refund);
  who = "lea";
  const answer = fetch;
  vi.stubGlobal("fetch", (url: string, init?: RequestInit) => {
    if (who === null) return Promise.resolve(Response.json({}, { status: 401 }));
    server.me = { ...server.me, subject: who };
    return answer(url, init);
  });
  const mark = document.createElement("meta");
  mark.name = "sayso-sign-in";
  mark.content = "id.example.org";
  document.head.append(mark);
});
afterEach(() => {
  document.head.querySelector("meta[name=sayso-sign-in]")?.remove();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  sessionStorage.clear();
  localStorage.clear();
});

/** Half a message, half a denial, and an answer that was not sent. */
async function writesHalf() {
  await userEvent.type(await message(), "what lea thinks");
  await userEvent.click(await screen.findByRole("button", { name: "Yes" }));
  await deny();
  await userEvent.type(await reason(), "what lea found");
}

/** Nothing is half written, and both questions have no answer. */
async function isBlank() {
  expect(await message()).toHaveValue("");
  await waitFor(async () => {
    expect(await message()).toHaveAccessibleDescription(/Answer 2 questions above/);
  });
  await deny();
  expect(await reason()).toHaveValue("");
}

it("what is half written belongs to a person: another one in the same tab sees none of it", async () => {
  await open("/play/ops/t-1");
  await writesHalf();
  nowItIs(null);
  expect(await screen.findByRole("heading", HEADING)).toBeVisible();
  expect(screen.queryByDisplayValue(/lea/)).toBeNull();
  nowItIs("leo");
  await isBlank();
  nowItIs("lea");
  await waitFor(async () => {
    expect(await message()).toHaveValue("what lea thinks");
  });
  expect(await reason()).toHaveValue("what lea found");
  expect(await message()).toHaveAccessibleDescription(/Answer 1 more question above/);
});

it("of the same name in another tenant is somebody else", async () => {
  await open("/play/ops/t-1");
  await writesHalf();
  server.me = { ...server.me, scope: "elsewhere" };
  nowItIs("lea");
  await waitFor(async () => {
    expect(await message()).toHaveValue("");
  });
  await isBlank();
});

it("who signs out leaves nothing behind in any tab", async () => {
  await open("/play/ops/t-1");
  await writesHalf();
  expect(Object.keys(sessionStorage)).not.toHaveLength(0);
  who = null;
  act(() => {
    window.dispatchEvent(new StorageEvent("storage", { key: "sayso-session", newValue: "out 1" }));
  });
  expect(await screen.findByRole("heading", HEADING)).toBeVisible();
  expect(Object.keys(sessionStorage)).toHaveLength(0);
  nowItIs("lea");
  await isBlank();
});

it("nothing that was kept is read before the server has said who is there", async () => {
  await open("/play/ops/t-1");
  await writesHalf();
  let answers: (response: Response) => void = () => undefined;
  const before = fetch;
  vi.stubGlobal("fetch", (url: string, init?: RequestInit) =>
    new URL(url).pathname === "/me"
      ? new Promise<Response>((resolve) => {
          answers = resolve;
        })
      : before(url, init),
  );
  document.body.replaceChildren();
  const read = vi.spyOn(Storage.prototype, "getItem");
  await open("/play/ops/t-1");
  expect(await screen.findByRole("heading", { name: "Loading…" })).toBeVisible();
  expect(read.mock.calls.filter(([key]) => key.includes("lea"))).toEqual([]);
  answers(Response.json({ ...server.me, subject: "leo" }));
  await isBlank();
  expect(read.mock.calls.filter(([key]) => key.includes("lea"))).toEqual([]);
});

it("the page names who is there now", async () => {
  await open("/settings");
  expect(await screen.findByText("Signed in as", { exact: false })).toHaveTextContent("lea");
  nowItIs("leo");
  await waitFor(() => {
    const [section] = screen.getAllByText("Signed in as", { exact: false });
    if (section === undefined) throw new Error("nobody is named");
    expect(within(section).getByText("leo")).toBeVisible();
  });
});
