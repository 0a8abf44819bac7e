import { act, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { StrictMode } from "react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { InboxServer, listed, problem } from "../../react/tests/core/inboxServer.js";
import { setToken } from "../src/access.js";
import { App } from "../src/App.js";
import { tell } from "./telling.js";

function open(path: string, server = new InboxServer()): InboxServer {
  const answers: Readonly<Record<string, unknown>> = {
    "/agents": { items: [{ name: "ops" }] },
    "/me": { subject: "ann", scope: "default", roles: [] },
  };
  vi.stubGlobal("fetch", (address: string, init?: RequestInit) => {
    const answer = answers[new URL(address).pathname];
    if (answer !== undefined) return Promise.resolve(Response.json(answer));
    return server.fetch(address, { method: "GET", ...init });
  });
  window.history.replaceState(null, "", path);
  const icon = document.createElement("link");
  icon.rel = "icon";
  icon.href = "/favicon.svg";
  document.head.append(icon);
  render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
  return server;
}

const asking = (...ids: string[]) => {
  const server = new InboxServer();
  server.items = ids.map((id) => listed(id, { threadId: `t-${id}` }));
  return server;
};
const rows = () =>
  within(screen.getByRole("list", { name: "Open questions" })).getAllByRole("link");
const question = () => screen.getByRole("region", { name: "The question" });
const icon = () => document.querySelector<HTMLLinkElement>('link[rel="icon"]')?.href ?? "";
const settled = () => Response.json({ runId: "r" });

// The five seconds in which an answer can be undone, or a row is struck through, are over when the
// test calls what this returns, however long a look takes.
function holdFiveSeconds(): () => void {
  const after = setTimeout;
  const due = new Set<() => void>();
  vi.stubGlobal("setTimeout", (act: () => void, ms?: number) => {
    if (ms !== 5_000) return after(act, ms);
    due.add(act);
    return 0;
  });
  return () => {
    act(() => {
      for (const one of due) one();
    });
  };
}

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  Element.prototype.scrollIntoView = () => undefined;
  HTMLDialogElement.prototype.showModal = function show(this: HTMLDialogElement) {
    this.open = true;
  };
  HTMLDialogElement.prototype.close = function close(this: HTMLDialogElement) {
    this.open = false;
    this.dispatchEvent(new Event("close"));
  };
});
afterEach(() => {
  document.querySelector('link[rel="icon"]')?.remove();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

describe("the inbox", () => {
  it("lists what is open, counts it in title, icon and navigation, and follows the server", async () => {
    const server = open("/inbox", asking("a", "b"));
    expect(await screen.findByText("2 open")).toBeVisible();
    expect(rows()).toHaveLength(2);
    await waitFor(() => {
      expect(document.title).toBe("(2) Inbox · Sayso");
      expect(decodeURIComponent(icon())).toContain(">2</text>");
    });
    const interrupt = listed("c", { createdAt: "2026-02-01T00:00:00Z" });
    await tell(server, { type: "opened", interrupt });
    expect(await screen.findByText("3 open")).toBeVisible();
    expect(screen.getByRole("link", { name: "Inbox 3 open" })).toBeVisible();
  });

  it("has room for two digits beside its link", async () => {
    open("/settings", asking(...Array.from({ length: 100 }, (_, number) => `q-${number}`)));
    expect(await screen.findByRole("link", { name: "Inbox 99+ open" })).toBeVisible();
  });

  it("shows no place of a secret in a row", async () => {
    const server = new InboxServer();
    const args = { user: "ann", password: { secret: "b".repeat(64) } };
    server.items = [
      listed("a", { message: "", metadata: { sayso: { tool: "sign_in", arguments: args } } }),
    ];
    open("/inbox", server);
    await screen.findByText("1 open");
    expect(rows()[0]).toHaveTextContent("user ann · password (not shown)");
  });

  it("does not say that nothing waits before it has heard so from the server", async () => {
    const server = asking();
    server.up = false;
    open("/inbox", server);
    expect(await screen.findByText(/appear when the server is back/)).toBeVisible();
    expect(screen.queryByText("Nothing waits for you.")).toBeNull();
    expect(screen.queryByText(/^\d+ open/)).toBeNull();
    server.up = true;
    await userEvent.click(screen.getByRole("button", { name: "Try now" }));
    expect(await screen.findByText("Nothing waits for you.")).toBeVisible();
  });

  it("is cleared by keyboard alone", async () => {
    const ids = Array.from({ length: 10 }, (_, index) => `q${index}`);
    const server = open("/inbox", asking(...ids));
    await screen.findByText("10 open");
    for (const [index] of ids.entries()) {
      server.replies.push(settled);
      await userEvent.keyboard("j");
      await within(question()).findByRole("button", { name: "Approve" });
      if (index % 2 === 0) await userEvent.keyboard("a");
      else await userEvent.keyboard("d{Tab}{Tab}{Shift>}{Tab}{/Shift}{Enter}");
      await within(question()).findByText(index % 2 === 0 ? "Approved" : "Denied");
    }
    expect(await screen.findByText("Nothing waits for you.")).toBeVisible();
    expect(server.posted.map((item) => (item.body as { payload: unknown }).payload)).toEqual(
      ids.map((_, index) => ({ approved: index % 2 === 0 })),
    );
    await waitFor(() => {
      expect(document.title).toBe("Inbox · Sayso");
      expect(icon()).toMatch(/favicon\.svg$/);
    });
  });

  it("says who has agreed so far where several people have to, as it happens", async () => {
    const metadata = { sayso: { approvers: { by: ["lead"], of: { lead: 1, finance: 1 } } } };
    const server = new InboxServer();
    server.items = [listed("a", { metadata })];
    open("/inbox/a", server);
    await screen.findByRole("button", { name: "Approve" });
    expect(screen.queryByText(/agreed/)).toBeNull();
    const agreed = [{ by: "lea", at: "2026-01-01T00:00:00Z" }, { nonsense: true }];
    await tell(server, { type: "agreed", interrupt: listed("a", { metadata, agreed }) });
    expect(await screen.findByText("1 of 2 approved: lea")).toBeVisible();
  });

  it("[T2] moves the focus to the row, then to the outcome in the card", async () => {
    const server = open("/inbox", asking("a", "b"));
    server.replies.push(settled);
    await screen.findByText("2 open");
    await userEvent.keyboard("jj");
    await waitFor(() => {
      expect(rows()[1]).toHaveFocus();
    });
    await userEvent.keyboard("k");
    await waitFor(() => {
      expect(rows()[0]).toHaveFocus();
    });
    await userEvent.keyboard("a");
    await waitFor(() => {
      expect(within(question()).getByText("Approved").closest('[role="status"]')).toHaveFocus();
    });
  });

  it("goes on to the next question, and keeps what was decided in sight for a moment", async () => {
    const fiveSecondsPass = holdFiveSeconds();
    localStorage.setItem("sayso-next", "on");
    const server = open("/inbox/b", asking("a", "b", "c"));
    server.replies.push(settled);
    await screen.findByText("3 open");
    await within(question()).findByRole("button", { name: "Approve" });
    await userEvent.keyboard("a");
    await screen.findByText("2 open");
    await waitFor(() => {
      expect(window.location.pathname).toBe("/inbox/c");
      expect(within(question()).getByRole("heading", { level: 2 })).toHaveFocus();
    });
    expect(screen.getByText("Approved: pay. The next question is open.")).toBeInTheDocument();
    const list = screen.getByRole("list", { name: "Open questions" });
    const texts = within(list)
      .getAllByRole("listitem")
      .map((row) => row.textContent);
    expect(texts[1]).toMatch(/pay.*Approved/);
    expect(rows()).toHaveLength(2);
    fiveSecondsPass();
    expect(within(list).getAllByRole("listitem")).toHaveLength(2);
  });

  it("says the same words anew for each decision, so that they are heard", async () => {
    localStorage.setItem("sayso-next", "on");
    const server = open("/inbox/a", asking("a", "b", "c"));
    server.replies.push(settled, settled);
    await screen.findByText("3 open");
    await within(question()).findByRole("button", { name: "Approve" });
    await userEvent.keyboard("a");
    await screen.findByText("2 open");
    const first = screen.getByText("Approved: pay. The next question is open.");
    await waitFor(() => {
      expect(window.location.pathname).toBe("/inbox/b");
    });
    await within(question()).findByRole("button", { name: "Approve" });
    const clock = vi.spyOn(performance, "now").mockReturnValue(performance.now() + 3_600_000);
    await userEvent.keyboard("a");
    clock.mockRestore();
    await screen.findByText("1 open");
    expect(first).not.toBeInTheDocument();
    expect(screen.getByText("Approved: pay. The next question is open.")).toBeInTheDocument();
  });

  it("goes on without the focus of whoever is busy in the list", async () => {
    localStorage.setItem("sayso-next", "on");
    const server = open("/inbox/a", asking("a", "b", "c"));
    let arrive: (reply: Response) => void = () => undefined;
    server.replies.push(() => new Promise((resolve) => (arrive = resolve)));
    await screen.findByText("3 open");
    await within(question()).findByRole("button", { name: "Approve" });
    await userEvent.keyboard("a");
    const box = screen.getAllByRole("checkbox", { name: /Select Approval/ })[2];
    if (box === undefined) throw new Error("There is no third row.");
    await userEvent.click(box);
    arrive(settled());
    await screen.findByText("2 open");
    await waitFor(() => {
      expect(window.location.pathname).toBe("/inbox/b");
    });
    await within(question()).findByRole("button", { name: "Approve" });
    expect(box).toBeChecked();
    expect(box).toHaveFocus();
  });

  it("says what a key has undone and leads there, and leaves writers alone", async () => {
    holdFiveSeconds();
    localStorage.setItem("sayso-undo", "on");
    const server = open("/inbox/a", asking("a", "b"));
    await screen.findByText("2 open");
    await within(question()).findByRole("button", { name: "Approve" });
    expect(fireEvent.keyDown(document.body, { key: "z" })).toBe(true);
    await userEvent.keyboard("a");
    await within(question()).findByRole("button", { name: "Undo" });
    await userEvent.click(screen.getByRole("searchbox"));
    await userEvent.keyboard("z");
    expect(screen.getByRole("searchbox")).toHaveValue("z");
    await userEvent.clear(screen.getByRole("searchbox"));
    expect(within(question()).getByRole("button", { name: "Undo" })).toBeVisible();
    act(() => {
      screen.getByRole("searchbox").blur();
    });
    await userEvent.keyboard("j");
    await waitFor(() => {
      expect(window.location.pathname).toBe("/inbox/b");
    });
    await userEvent.keyboard("z");
    await waitFor(() => {
      expect(window.location.pathname).toBe("/inbox/a");
    });
    expect(screen.getByText("Undone: pay is open again.")).toBeInTheDocument();
    expect(await within(question()).findByRole("button", { name: "Approve" })).toBeVisible();
    expect(server.posted).toEqual([]);
  });

  it("keeps what was chosen together when a key undoes an answer outside of it", async () => {
    localStorage.setItem("sayso-undo", "on");
    open("/inbox/a", asking("a", "b", "c"));
    await screen.findByText("3 open");
    await within(question()).findByRole("button", { name: "Approve" });
    await userEvent.keyboard("a");
    await within(question()).findByRole("button", { name: "Undo" });
    for (const box of screen.getAllByRole("checkbox", { name: /Select Approval/ }).slice(1)) {
      await userEvent.click(box);
    }
    await userEvent.click(screen.getByRole("button", { name: "Decide together" }));
    expect(within(question()).getAllByRole("region")).toHaveLength(2);
    act(() => {
      (document.activeElement as HTMLElement).blur();
    });
    await userEvent.keyboard("z");
    expect(await within(question()).findByRole("button", { name: "Approve" })).toBeVisible();
    expect(screen.getByText("2 selected")).toBeVisible();
  });

  it("lets no second click answer the question that has just opened under it", async () => {
    localStorage.setItem("sayso-next", "on");
    const server = open("/inbox/a", asking("a", "b"));
    server.replies.push(settled, settled);
    await screen.findByText("2 open");
    await within(question()).findByRole("button", { name: "Approve" });
    const before = performance.now();
    await userEvent.keyboard("a");
    await screen.findByText("1 open");
    await waitFor(() => {
      expect(window.location.pathname).toBe("/inbox/b");
    });
    const approve = await within(question()).findByRole("button", { name: "Approve" });
    const clickAt = (moment: number) => {
      const clock = vi.spyOn(performance, "now").mockReturnValue(moment);
      const counts = fireEvent.click(approve);
      clock.mockRestore();
      return counts;
    };
    expect(clickAt(before)).toBe(false);
    expect(clickAt(before + 3_600_000)).toBe(true);
    await waitFor(() => {
      expect(server.posted).toHaveLength(2);
    });
  });

  it("sends a decision only after a while, until when it can be undone", async () => {
    holdFiveSeconds();
    localStorage.setItem("sayso-undo", "on");
    const server = open("/inbox/a", asking("a", "b"));
    await screen.findByText("2 open");
    await within(question()).findByRole("button", { name: "Approve" });
    await userEvent.keyboard("a");
    const undo = await within(question()).findByRole("button", { name: "Undo" });
    expect(undo).toHaveFocus();
    expect(within(question()).getByText(/Sending in/)).toBeVisible();
    await userEvent.keyboard("z");
    await within(question()).findByRole("button", { name: "Approve" });
    expect(within(question()).getByRole("region")).toHaveFocus();
    expect(server.posted).toEqual([]);
    server.replies.push(settled);
    await userEvent.keyboard("a");
    await userEvent.click(await within(question()).findByRole("button", { name: "Send now" }));
    await screen.findByText("1 open");
    expect(server.posted.map((item) => item.path)).toEqual(["/interrupts/a/answer"]);
    await waitFor(() => {
      expect(within(question()).getByText("Approved").closest('[role="status"]')).toHaveFocus();
    });
  });

  describe("whose sign-in changes while an answer waits", () => {
    let says: (subject: string) => Promise<void>;

    async function decide() {
      holdFiveSeconds();
      localStorage.setItem("sayso-undo", "on");
      const server = open("/inbox/a", asking("a", "b"));
      // The page of the person of another test may stand first.
      await waitFor(() => {
        expect(within(question()).getByRole("button", { name: "Approve" })).toBeVisible();
      });
      await userEvent.keyboard("a");
      await within(question()).findByText(/Sending in/);
      const before = fetch;
      vi.stubGlobal("fetch", (url: string, init?: RequestInit) =>
        new URL(url).pathname === "/me"
          ? new Promise<Response>((resolve) => {
              says = async (subject) => {
                resolve(Response.json({ subject, scope: "default", roles: [] }));
                await act(() => Promise.resolve());
              };
            })
          : before(url, init),
      );
      act(() => {
        setToken("another");
      });
      return server;
    }
    afterEach(() => {
      setToken("");
      sessionStorage.clear();
    });

    it("sends nothing as the next person, and says so", async () => {
      const server = await decide();
      await userEvent.click(within(question()).getByRole("button", { name: "Send now" }));
      expect(server.posted).toEqual([]);
      await says("leo");
      const said = await screen.findByText("An answer was not sent, because the sign-in changed.");
      expect(said).toBeVisible();
      await screen.findByText("2 open");
      expect(await within(question()).findByRole("button", { name: "Approve" })).toBeVisible();
      expect(server.posted).toEqual([]);
      await userEvent.click(screen.getByRole("button", { name: "Close" }));
      expect(screen.queryByText(/An answer was not sent/)).toBeNull();
    });

    it("sends it as soon as the same person is known to be there", async () => {
      const server = await decide();
      server.replies.push(settled);
      await userEvent.click(within(question()).getByRole("button", { name: "Send now" }));
      expect(server.posted).toEqual([]);
      // Whoever comes back to the page meanwhile does not make it forget that it waits.
      document.dispatchEvent(new Event("visibilitychange"));
      await says("ann");
      await waitFor(() => {
        expect(server.posted.map((item) => item.path)).toEqual(["/interrupts/a/answer"]);
      });
      expect(screen.queryByText(/An answer was not sent/)).toBeNull();
    });
  });

  it("never lets a quick key meet the question before the one that was stepped to", async () => {
    const server = open("/inbox/a", asking("a", "b", "c"));
    server.replies.push(settled);
    await screen.findByText("3 open");
    await within(question()).findByRole("button", { name: "Approve" });
    act(() => {
      for (const key of ["j", "j", "a", "j"]) {
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
      }
    });
    expect(await within(question()).findByText("Approved")).toBeVisible();
    expect(server.posted.map((item) => item.path)).toEqual(["/interrupts/c/answer"]);
  });

  it("loses no quick key: each act meets the question of the step before it", async () => {
    const server = open("/inbox", asking("a", "b"));
    server.replies.push(settled, settled);
    await screen.findByText("2 open");
    act(() => {
      for (const key of ["j", "a", "j", "a"]) {
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
      }
    });
    expect(await screen.findByText("Nothing waits for you.")).toBeVisible();
    expect(server.posted.map((item) => item.path)).toEqual([
      "/interrupts/a/answer",
      "/interrupts/b/answer",
    ]);
  });

  it("forgets the keys that still wait when the reader leaves", async () => {
    const server = open("/inbox", asking("a", "b"));
    await screen.findByText("2 open");
    act(() => {
      for (const key of ["j", "a", "Escape"]) {
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
      }
    });
    expect(await screen.findByText(/Choose a question/)).toBeVisible();
    server.replies.push(settled);
    await userEvent.keyboard("ja");
    expect(await within(question()).findByText("Approved")).toBeVisible();
    expect(server.posted.map((item) => item.path)).toEqual(["/interrupts/a/answer"]);
  });

  it.each([
    [["cancel"], null],
    [["cancel", "assign"], "Assign"],
    [["cancel", "extend"], "Extend"],
    [["answer", "cancel", "extend", "assign"], "Assign or extend"],
  ])(
    "offers of assigning and extending what the server lets a reader do: %j",
    async (may, label) => {
      const server = new InboxServer();
      const metadata = { sayso: { may } };
      server.items = [listed("a", { metadata, expiresAt: "2099-01-01T00:00:00Z" })];
      open("/inbox/a", server);
      await within(question()).findByRole("heading", { level: 2 });
      const offered = question().querySelector("details.handling summary");
      expect(offered?.textContent ?? null).toBe(label);
    },
  );

  it("offers to extend a question that lapsed, which can be answered again then", async () => {
    const server = new InboxServer();
    const times = { expiresAt: "2026-01-01T00:00:00Z", lapsedAt: "2026-01-01T00:00:00Z" };
    server.items = [listed("a", times)];
    open("/inbox/a", server);
    await userEvent.click(await screen.findByText("Assign or extend"));
    expect(screen.getByText("It expired. Extend it, and it can be answered again.")).toBeVisible();
    server.replies.push(() => Response.json(listed("a", { expiresAt: "2099-01-01T00:00:00Z" })));
    await userEvent.click(screen.getByRole("button", { name: "1 hour" }));
    expect(await screen.findByText("Deadline extended by 1 hour.")).toBeVisible();
    expect(server.posted.map((item) => item.path)).toEqual(["/interrupts/a/extend"]);
    expect(await within(question()).findByRole("button", { name: "Approve" })).toBeVisible();
  });

  it("leaves letters alone while something is written, and altogether when they are turned off", async () => {
    open("/inbox", asking("a"));
    await screen.findByText("1 open");
    await userEvent.keyboard("/");
    const find = screen.getByRole("searchbox");
    expect(find).toHaveFocus();
    await userEvent.keyboard("jad?");
    expect(find).toHaveValue("jad?");
    await userEvent.clear(find);
    await userEvent.keyboard("{Escape}?");
    const help = screen.getByRole("dialog", { name: "Keyboard shortcuts" });
    await userEvent.click(within(help).getByRole("checkbox"));
    await userEvent.click(within(help).getByRole("button", { name: "Close" }));
    await userEvent.keyboard("j");
    expect(window.location.pathname).toBe("/inbox");
    await userEvent.click(screen.getByRole("button", { name: /^Keys/ }));
    await userEvent.click(within(help).getByRole("checkbox"));
  });

  it("narrows the list by agent, reason, age, expiry and words, in the address", async () => {
    vi.setSystemTime("2026-01-01T02:00:00Z");
    const server = asking("a");
    server.items.push(
      listed("b", { agent: "books", reason: "confirmation", message: "Deploy?" }),
      listed("c", { expiresAt: "2026-01-01T02:30:00Z", createdAt: "2026-01-01T01:58:00Z" }),
    );
    open("/inbox?agent=books", server);
    expect(await screen.findByText("1 of 3 open")).toBeVisible();
    await userEvent.selectOptions(screen.getByRole("combobox", { name: "Agent" }), "All agents");
    await userEvent.selectOptions(
      screen.getByRole("combobox", { name: "Deadline" }),
      "Within an hour",
    );
    expect(rows()).toHaveLength(1);
    expect(rows()[0]).toHaveTextContent("30 min left");
    await userEvent.selectOptions(screen.getByRole("combobox", { name: "Age" }), "Over an hour");
    expect(screen.getByText(/No question matches/)).toBeVisible();
    await userEvent.click(screen.getByRole("link", { name: "Show all" }));
    await userEvent.type(screen.getByRole("searchbox"), "deploy");
    expect(rows()).toHaveLength(1);
    expect(window.location.search).toBe("?text=deploy");
    vi.useRealTimers();
  });

  it("[V2] decides several together, each with its own answer or all with one", async () => {
    const server = open("/inbox", asking("a", "b", "c"));
    await screen.findByText("3 open");
    await userEvent.click(screen.getByRole("checkbox", { name: "Select all" }));
    await userEvent.click(screen.getByRole("button", { name: "Decide together" }));
    const second = within(question()).getAllByRole("region")[1];
    if (second === undefined) throw new Error("there is no second card");
    await userEvent.click(within(second).getByRole("button", { name: "Withdraw request" }));
    const items = ["a", "b", "c"].map((id) => ({ threadId: `t-${id}`, runId: "r" }));
    server.replies.push(() => Response.json({ items }));
    await userEvent.click(await screen.findByRole("button", { name: "Approve the other 2" }));
    expect(await screen.findByText("3 decided")).toBeVisible();
    expect(server.posted).toHaveLength(1);
    expect((server.posted[0]?.body as { answers: { status: string }[] }).answers).toMatchObject([
      { interruptId: "a", status: "resolved" },
      { interruptId: "b", status: "cancelled" },
      { interruptId: "c", status: "resolved" },
    ]);
  });

  it("opens one question by its address, also one that is settled or unknown", async () => {
    const server = asking("a");
    const answer = { status: "resolved", payload: { approved: false }, by: "eve" };
    server.settled.set("old", listed("old", { status: "resolved", answer }));
    open("/inbox/old", server);
    expect(await screen.findByText("Denied by eve")).toBeVisible();
    act(() => {
      window.history.pushState(null, "", "/inbox/never");
      window.dispatchEvent(new PopStateEvent("popstate"));
    });
    expect(await screen.findByText(/This question no longer exists/)).toBeVisible();
  });

  it("[Q4] closes the card when somebody else decides, without an error", async () => {
    const server = open("/inbox/a", asking("a"));
    await screen.findByRole("button", { name: "Approve" });
    const answer = { status: "resolved", payload: { approved: true }, by: "eve" };
    await tell(server, { type: "settled", interrupt: listed("a", { status: "resolved", answer }) });
    expect(await screen.findByText("Approved by eve")).toBeVisible();
    expect(screen.queryByRole("button", { name: "Approve" })).toBeNull();
  });

  it("says what an answer waits for when its thread has more open, and takes it back", async () => {
    const server = new InboxServer();
    server.items = [listed("a"), listed("b")];
    open("/inbox/a", server);
    server.replies.push(() => Response.json({ remaining: 1 }, { status: 202 }));
    await userEvent.click(await screen.findByRole("button", { name: "Approve" }));
    expect(await screen.findByText(/continues once 1 more question is answered/)).toBeVisible();
    expect(screen.getByText("1 open, 1 answered")).toBeVisible();
    server.replies.push(() => Response.json({ remaining: 2 }));
    await userEvent.click(screen.getByRole("button", { name: "Change" }));
    expect(await screen.findByRole("button", { name: "Approve" })).toBeVisible();
  });

  it("[CL-07] keeps an answer that was not sent, with a way to send it again", async () => {
    const server = open("/inbox/a", asking("a"));
    server.replies.push(() => problem(503, "store_unavailable"), settled);
    await userEvent.click(await screen.findByRole("button", { name: "Approve" }));
    expect(await screen.findByText(/The server cannot save/)).toBeVisible();
    await userEvent.click(screen.getByRole("button", { name: "Try again" }));
    expect(await screen.findByText("Approved")).toBeVisible();
  });

  it("shows that the server is away and that it asks who one is", async () => {
    const server = asking("a");
    server.up = false;
    open("/inbox", server);
    expect(await screen.findByText(/The connection is lost/)).toBeVisible();
    server.up = true;
    server.streamReply = () => problem(401, "unauthenticated");
    await userEvent.click(screen.getByRole("button", { name: "Try now" }));
    expect(await screen.findByRole("heading", { name: "Sign in" })).toBeVisible();
  });

  it("shows nothing but that there is no inbox on a server without one", async () => {
    const server = new InboxServer();
    server.streamReply = () => problem(404, "not_found");
    open("/inbox", server);
    expect(await screen.findByRole("heading", { name: "No inbox" })).toBeVisible();
  });
});
