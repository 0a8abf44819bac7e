import { act, render, screen, waitFor } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { StrictMode } from "react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { InboxServer, listed } from "../../react/tests/core/inboxServer.js";
import { App } from "../src/App.js";
import { ending, FakeServer, question, says, snapshots } from "./server.js";
import { tell } from "./telling.js";

function open(path: string): void {
  window.history.replaceState(null, "", path);
  render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}

/** What the server says about itself in the page it serves. */
function mark(name: string, content: string): void {
  const meta = document.createElement("meta");
  meta.name = `sayso-${name}`;
  meta.content = content;
  document.head.append(meta);
}

const message = () => screen.findByRole("textbox", { name: "Message" });
const status = () => screen.getByText(/^(Ready|Working|Waiting for you|Answered elsewhere)$/);
const user = { id: "u1", role: "user", content: "deploy" };

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
  sessionStorage.clear();
  document.head.replaceChildren();
});

describe("the playground", () => {
  it("opens a new thread with the first agent and puts it into the address", async () => {
    new FakeServer().install();
    open("/");
    await message();
    expect(window.location.pathname).toMatch(/^\/play\/ops\/[0-9a-f-]{36}$/);
    expect(await screen.findByRole("heading", { level: 1, name: /say-so/ })).toBeVisible();
  });

  it.each(["/", "/thread/ops/t-1"])(
    "asks who one is where the server does, and does not try again: %s",
    async (path) => {
      vi.stubGlobal("fetch", () =>
        Promise.resolve(Response.json({ detail: "Say who you are.", code: "x" }, { status: 401 })),
      );
      open(path);
      expect(await screen.findByRole("heading", { name: "Sign in" })).toBeVisible();
      expect(screen.getByText("Say who you are.")).toBeVisible();
      expect(screen.queryByText(/No connection|every 2 seconds/)).toBeNull();
    },
  );

  it("asks to sign in where the sign-in ends in the middle of a run, and follows it again", async () => {
    const server = new FakeServer().install();
    server.runs.push(() => {
      server.token = "new";
      return [...says("m1", "Half"), { type: "RUN_ERROR", code: "token_expired", message: "no" }];
    });
    open("/play/ops/t-1");
    await userEvent.click(await screen.findByRole("button", { name: /^Say hello/ }));
    const token = await screen.findByLabelText("Token");
    expect(screen.getByText(/^Sign in to continue\.$/)).toBeVisible();
    expect(screen.queryByText(/The run failed/)).toBeNull();
    server.connect = () => snapshots([user, { id: "m1", role: "assistant", content: "Whole." }]);
    await userEvent.type(token, "new{Enter}");
    expect(await screen.findByText("Whole.")).toBeVisible();
    expect(screen.queryByLabelText("Token")).toBeNull();
    expect(status()).toHaveTextContent("Ready");
  });

  it("sends an example, shows the answer and counts no question", async () => {
    const server = new FakeServer().install();
    server.runs.push(() => [...says("m1", "Hello to you."), ending()]);
    open("/play/ops/t-1");
    await userEvent.click(await screen.findByRole("button", { name: /^Say hello/ }));
    expect(await screen.findByText("Hello to you.")).toBeVisible();
    expect(server.posted[0]?.path).toBe("/agents/ops");
    await waitFor(() => {
      expect(document.title).toBe("ops · Sayso");
    });
  });

  it("counts what has no answer yet, says what is not sent, and keeps the focus over Send", async () => {
    const server = new FakeServer().install();
    server.connect = () => snapshots([user], question, { ...question, id: "int_2" });
    open("/play/ops/t-1");
    const field = await message();
    await waitFor(() => {
      expect(field).toHaveAccessibleDescription(/Answer 2 questions above/);
    });
    const [first, second] = screen.getAllByRole("button", { name: "Yes" });
    if (first === undefined || second === undefined) throw new Error("two are asked");
    await userEvent.click(first);
    await waitFor(() => {
      expect(field).toHaveAccessibleDescription(/Answer 1 more question above/);
    });
    await userEvent.click(second);
    await waitFor(() => {
      expect(field).toHaveAccessibleDescription(/Send your answers above/);
    });
    server.runs.push(() => [...says("m1", "Going on."), ending()]);
    await userEvent.click(screen.getByRole("button", { name: /^Send .+/ }));
    expect(await screen.findByText("Going on.")).toBeVisible();
    server.runs.push(() => [...says("m2", "Yes."), ending()]);
    await userEvent.type(field, "more");
    await userEvent.click(screen.getByRole("button", { name: "Send" }));
    await waitFor(() => {
      expect(field).toHaveFocus();
    });
  });

  it("[A1] [CL-10] brings back the thread of the address with its open question, and blocks the composer", async () => {
    const server = new FakeServer().install();
    server.connect = () => snapshots([user], question);
    open("/play/ops/t-1");
    expect(await screen.findByText("Go on?")).toBeVisible();
    await waitFor(() => {
      expect(document.title).toBe("(1) Waiting for you · Sayso");
    });
    const field = await message();
    await waitFor(() => {
      expect(field).toHaveAccessibleDescription(/Answer the question above/);
    });
    await userEvent.type(field, "hm{Enter}");
    expect(server.posted).toEqual([]);
    expect(field).toHaveValue("hm");
    server.runs.push(() => [...says("m1", "Going on."), ending()]);
    await userEvent.click(screen.getByRole("button", { name: "Yes" }));
    expect(await screen.findByText("Going on.")).toBeVisible();
    expect(server.posted[0]?.body.resume).toEqual([
      { interruptId: "int_1", status: "resolved", payload: true },
    ]);
    await waitFor(() => {
      expect(document.title).toBe("ops · Sayso");
    });
  });

  it("[OC-10] says after a reload how each call ended, and not that a denied one was done", async () => {
    const call = (id: string) => ({
      id,
      type: "function",
      function: { name: "send_email", arguments: "{}" },
    });
    const denied = "Not executed: a reviewer denied this call.";
    const server = new FakeServer().install();
    server.connect = () =>
      snapshots([
        user,
        { id: "a1", role: "assistant", toolCalls: [call("c1"), call("c2"), call("c3")] },
        { id: "r1", role: "tool", toolCallId: "c1", content: denied },
        { id: "r2", role: "tool", toolCallId: "c2", content: `Sent ${"x".repeat(200)}` },
        { id: "r3", role: "tool", toolCallId: "c3", content: '{"sent":2}' },
      ]);
    open("/play/ops/t-1");
    const heads = await screen.findAllByText("send_email");
    const ends = heads.map((head) => head.nextElementSibling?.textContent);
    expect(ends).toEqual([denied, `Sent ${"x".repeat(95)}…`, "returned"]);
  });

  it("[E9] cancels the question and sends the text instead when asked to", async () => {
    const server = new FakeServer().install();
    server.connect = () => snapshots([user], question);
    server.runs.push(() => [...says("m1", "As you like."), ending()]);
    open("/play/ops/t-1");
    await userEvent.type(await message(), "never mind");
    await userEvent.click(await screen.findByRole("button", { name: "Withdraw and send" }));
    expect(await screen.findByText("As you like.")).toBeVisible();
    expect(server.posted[0]?.body.resume).toMatchObject([{ status: "cancelled" }]);
    expect(server.posted[0]?.body.messages.at(-1)).toMatchObject({ content: "never mind" });
  });

  it("shows what the agent really did in this thread, apart from other threads", async () => {
    const server = new FakeServer().install();
    const pointer = "2026-01-01T00:00:00Z";
    server.effects = {
      effects: [
        { kind: "refund", args: { amount: 240 }, threadId: "t-1", at: pointer },
        { kind: "email", args: { to: "x" }, threadId: "other", at: pointer },
      ],
    };
    mark("effects", "demo/effects");
    open("/play/ops/t-1");
    const here = await screen.findByRole("list", { name: "Effects of this conversation" });
    expect(here).toHaveTextContent("refund");
    expect(here).not.toHaveTextContent("email");
  });

  it("asks for no effects on a server that is not the demo", async () => {
    const server = new FakeServer().install();
    open("/play/ops/t-1");
    await message();
    expect(await screen.findByText("Ready")).toBeVisible();
    expect(screen.queryByRole("heading", { name: "Effects" })).toBeNull();
    expect(server.asked).not.toContain("/demo/effects");
  });

  it("[Q4] hears at once from the inbox that its question was settled elsewhere", async () => {
    const server = new FakeServer().install();
    const inbox = new InboxServer();
    const rest = fetch;
    vi.stubGlobal("fetch", (url: string, init?: RequestInit) =>
      new URL(url).pathname.startsWith("/interrupts")
        ? inbox.fetch(url, { method: "GET", ...init })
        : rest(url, init),
    );
    inbox.items = [listed("int_1")];
    server.connect = () => snapshots([user], question);
    open("/play/ops/t-1");
    expect(await screen.findByRole("button", { name: "Yes" })).toBeVisible();
    expect(await screen.findByRole("link", { name: "Inbox 1 open" })).toBeVisible();
    server.connect = () => snapshots([user]);
    await tell(inbox, {
      type: "settled",
      interrupt: listed("int_1", { status: "resolved" }),
    });
    // On the card and in the header.
    expect(await screen.findAllByText("Answered elsewhere")).toHaveLength(2);
  });

  it("begins another thread on request", async () => {
    new FakeServer().install();
    open("/play/ops/t-1");
    await message();
    await userEvent.click(screen.getByRole("button", { name: "New conversation" }));
    expect(window.location.pathname).toMatch(/^\/play\/ops\/(?!t-1$)/);
  });
});

describe("a server that is away", () => {
  it("is waited for before anything is shown", async () => {
    vi.useFakeTimers({ shouldAdvanceTime: true });
    const server = new FakeServer().install();
    server.up = false;
    open("/");
    expect(await screen.findByRole("heading", { name: "No connection" })).toBeVisible();
    server.up = true;
    await act(() => vi.advanceTimersByTimeAsync(2500));
    expect(await message()).toBeVisible();
  });

  it("is tried again while the question stays on the screen", async () => {
    const server = new FakeServer().install();
    server.connect = () => snapshots([user], question);
    open("/play/ops/t-1");
    await screen.findByText("Go on?");
    server.up = false;
    act(() => {
      window.dispatchEvent(new Event("focus"));
    });
    expect(await screen.findByText(/The connection is lost/)).toBeVisible();
    expect(screen.getByText("Go on?")).toBeVisible();
    server.up = true;
    await userEvent.click(screen.getByRole("button", { name: "Try now" }));
    await waitFor(() => {
      expect(screen.queryByText(/The connection is lost/)).toBeNull();
    });
    expect(status()).toHaveTextContent("Waiting for you");
  });

  it("keeps the message that did not arrive, with a way to send it again", async () => {
    const server = new FakeServer().install();
    open("/play/ops/t-1");
    const field = await message();
    await screen.findByRole("heading", { level: 1 });
    server.up = false;
    await userEvent.type(field, "hello{Enter}");
    expect(await screen.findByText("Not sent.")).toBeVisible();
    server.up = true;
    server.runs.push(() => [...says("m1", "Hello to you."), ending()]);
    await userEvent.click(await screen.findByRole("button", { name: "Send again" }));
    expect(await screen.findByText("Hello to you.")).toBeVisible();
    expect(screen.queryByText("Not sent.")).toBeNull();
  });
});

describe("a limit that is reached", () => {
  it("is told with when to try again, and keeps the message", async () => {
    const server = new FakeServer().install();
    server.problem = { status: 429, code: "too_many", detail: "Try again in 5 seconds." };
    open("/play/ops/t-1");
    await screen.findByRole("heading", { level: 1 });
    await userEvent.type(await message(), "hello{Enter}");
    await waitFor(() => {
      expect(screen.getByText(/Try again in 5 seconds/)).toBeVisible();
    });
    expect(screen.getByText("hello")).toBeVisible();
    server.problem = null;
    server.runs.push(() => [...says("m1", "Hello to you."), ending()]);
    await userEvent.click(await screen.findByRole("button", { name: "Send again" }));
    expect(await screen.findByText("Hello to you.")).toBeVisible();
  });
});

describe("addresses", () => {
  it("that name an unknown agent or nothing at all say so and lead back", async () => {
    new FakeServer().install();
    open("/play/nobody/t-1");
    expect(await screen.findByText(/no agent named nobody/)).toBeVisible();
    await userEvent.click(screen.getByRole("button", { name: "Open the playground" }));
    expect(await message()).toBeVisible();
  });

  it("are taken below the server's mount point", async () => {
    new FakeServer().install();
    mark("root", "/here/");
    vi.stubGlobal("fetch", (url: string) => {
      expect(new URL(url).pathname).toMatch(/^\/here\//);
      return Promise.resolve(Response.json({ items: [] }));
    });
    open("/here/");
    expect(await screen.findByRole("heading", { name: "No agents" })).toBeVisible();
  });
});
