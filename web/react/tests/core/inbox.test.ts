import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  Inbox,
  inboxView,
  sessionDrafts,
  validateAnswer,
  type Answer,
  type Closed,
  type Page,
} from "../../src/core/index.js";
import { readListed } from "../../src/core/inboxItems.js";
import { EMPTY_INBOX, withEnd } from "../../src/core/inboxState.js";
import { InboxServer, listed, problem } from "./inboxServer.js";

const flush = () => vi.advanceTimersByTimeAsync(1);

class FakePage implements Page {
  isHidden = false;
  #back: (() => void)[] = [];
  #away: (() => void)[] = [];
  hidden = () => this.isHidden;
  onReturn = (callback: () => void) => {
    this.#back.push(callback);
    return () => undefined;
  };
  onLeave = (callback: () => void) => {
    this.#away.push(callback);
    return () => undefined;
  };
  turn(hidden: boolean): void {
    this.isHidden = hidden;
    for (const callback of hidden ? this.#away : this.#back) callback();
  }
  /** It goes away while it is on the screen, as a tab does that is closed or reloaded. */
  goAway(): void {
    for (const callback of this.#away) callback();
  }
}

let close: (() => void) | undefined;

async function follow(server: InboxServer, page = new FakePage(), undoMs = 0) {
  const inbox = new Inbox({
    url: "http://sayso.test/base",
    fetch: server.fetch,
    validate: validateAnswer,
    page,
    undoMs,
  });
  close = inbox.open();
  await flush();
  return inbox;
}

const open = (inbox: Inbox) => inbox.getSnapshot().items.map((item) => item.interrupt.id);
const view = (inbox: Inbox, id: string) => inboxView(inbox.getSnapshot(), id, Date.now());
const yes = { status: "resolved", payload: { approved: true } } as const;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  close?.();
  close = undefined;
  vi.useRealTimers();
});

describe("an inbox that follows its server", () => {
  it("sends an approval after a while, unless it is undone, left, or nearly too late", async () => {
    const server = new InboxServer();
    const soon = new Date(Date.now() + 9_000).toISOString();
    server.items = [listed("a"), listed("b"), listed("c", { expiresAt: soon }), listed("d")];
    const inbox = await follow(server, new FakePage(), 5_000);
    const paths = () => server.posted.map(({ path }) => path.split("/").at(-2));
    await inbox.answer("a", yes);
    await inbox.answer("b", yes);
    await vi.advanceTimersByTimeAsync(4_900);
    expect(paths()).toEqual([]);
    expect(view(inbox, "a")?.phase).toBe("answered");
    expect(view(inbox, "a")?.sendAt).toBeGreaterThan(0);
    await inbox.withdraw("b");
    server.replies.push(() => Response.json({ runId: "run_1" }));
    await vi.advanceTimersByTimeAsync(200);
    expect(paths()).toEqual(["a"]);
    server.replies.push(() => Response.json({ runId: "run_2" }));
    void inbox.answer("c", yes);
    await flush();
    expect(paths()).toEqual(["a", "c"]);
    await inbox.answer("d", yes);
    close?.();
    close = undefined;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(paths()).toEqual(["a", "c"]);
    expect(inbox.getSnapshot()).toMatchObject({ left: ["d"], sendAt: {} });
    expect(view(inbox, "d")).toMatchObject({ phase: "answered" });
    expect(view(inbox, "b")).toMatchObject({ phase: "open" });
  });

  it.each(["is hidden", "goes away"])("sends what waits when the page %s, once", async (how) => {
    const server = new InboxServer();
    server.items = [listed("a"), listed("b", { threadId: "t-2" }), listed("c")];
    const page = new FakePage();
    const inbox = await follow(server, page, 5_000);
    await inbox.answer("a", yes);
    await inbox.answer("b", yes);
    let arrive: (reply: Response) => void = () => undefined;
    server.replies.push(() => new Promise((resolve) => (arrive = resolve)));
    if (how === "is hidden") page.turn(true);
    else page.goAway();
    // Of a page that goes away only what has begun by now still happens.
    expect(view(inbox, "a")).toMatchObject({ phase: "sending" });
    expect(inbox.getSnapshot().sendAt).toEqual({});
    page.goAway();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(server.posted.map(({ path }) => path)).toEqual(["/base/interrupts/answers"]);
    expect(server.outliving).toBe(1);
    arrive(
      Response.json({
        items: [
          { threadId: "t-1", runId: "r" },
          { threadId: "t-2", runId: "s" },
        ],
      }),
    );
    await flush();
    expect(view(inbox, "a")?.closed?.ending).toBe("answered");
    expect(view(inbox, "b")?.closed?.ending).toBe("answered");
  });

  it("looks at what was under way anew when a page comes back that was frozen", async () => {
    const server = new InboxServer();
    server.items = [listed("a"), listed("b")];
    const page = new FakePage();
    const inbox = await follow(server, page, 5_000);
    await inbox.answer("a", yes);
    server.replies.push(() => new Promise<never>(() => undefined));
    page.turn(true);
    const answer = { status: "resolved", payload: { approved: true }, by: "lea", channel: "inbox" };
    server.items = [listed("b")];
    server.settled.set("a", { ...listed("a"), status: "resolved", answer });
    page.turn(false);
    await flush();
    expect(view(inbox, "a")?.closed).toMatchObject({ ending: "answered" });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(server.posted).toHaveLength(1);
  });

  it("hears what came of an answer that left with the page, when somebody is back", async () => {
    const server = new InboxServer();
    server.items = [listed("a"), listed("b")];
    const page = new FakePage();
    const inbox = await follow(server, page, 5_000);
    await inbox.answer("a", yes);
    server.replies.push(() => Response.json({ runId: "r" }));
    page.turn(true);
    server.items = [listed("b")];
    await flush();
    expect(view(inbox, "a")?.closed).toMatchObject({ ending: "answered" });
    const result = { status: "executed", text: "Paid.", at: "2026-01-01T00:00:02Z", ms: 2000 };
    const answer = { status: "resolved", payload: { approved: true }, by: "lea", channel: "inbox" };
    server.settled.set("a", { ...listed("a"), status: "resolved", answer, result });
    page.turn(false);
    await flush();
    await flush();
    expect(view(inbox, "a")?.closed).toMatchObject({
      ending: "answered",
      result: { text: "Paid." },
    });
  });

  it("does not send what a machine forgot that slept: it says so and waits for a word", async () => {
    const server = new InboxServer();
    server.items = [listed("a"), listed("b")];
    const inbox = await follow(server, new FakePage(), 5_000);
    await inbox.answer("a", yes);
    vi.setSystemTime(Date.now() + 3_600_000);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(server.posted).toEqual([]);
    expect(inbox.getSnapshot()).toMatchObject({ left: ["a"], sendAt: {} });
    expect(view(inbox, "a")).toMatchObject({ phase: "answered", answer: yes });
    expect(view(inbox, "a")).not.toHaveProperty("sendAt");
  });

  it("sends nothing while it is not known whose page it is, then all that is due, once", async () => {
    const server = new InboxServer();
    server.items = [listed("a"), listed("b", { threadId: "t-2" }), listed("c")];
    const page = new FakePage();
    const inbox = await follow(server, page, 5_000);
    await inbox.answer("a", yes);
    inbox.suspend();
    await vi.advanceTimersByTimeAsync(5_000);
    await inbox.answer("b", yes);
    await inbox.answer("c", { status: "cancelled" });
    page.turn(true);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(server.posted).toEqual([]);
    server.replies.push(() => Response.json({ items: [] }));
    inbox.resume();
    inbox.resume();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(server.posted.map(({ body }) => body)).toEqual([
      {
        answers: [
          { interruptId: "a", ...yes },
          { interruptId: "b", ...yes },
          { interruptId: "c", status: "cancelled" },
        ],
      },
    ]);
  });

  it("sends what became due meanwhile also where the server's clock goes back", async () => {
    const server = new InboxServer();
    server.items = [listed("a"), listed("b")];
    let ahead = 0;
    const inbox = new Inbox({
      url: "http://sayso.test/base",
      fetch: server.fetch,
      page: new FakePage(),
      clock: () => Date.now() + ahead,
      undoMs: 5_000,
    });
    close = inbox.open();
    await flush();
    await inbox.answer("a", yes);
    await inbox.answer("b", yes);
    inbox.suspend();
    await vi.advanceTimersByTimeAsync(5_000);
    await inbox.withdraw("b");
    await inbox.answer("b", yes);
    ahead = -60_000;
    server.replies.push(() => Response.json({ runId: "run_1" }));
    inbox.resume();
    await flush();
    expect(server.posted.map(({ path }) => path.split("/").at(-2))).toEqual(["a"]);
    server.replies.push(() => Response.json({ runId: "run_2" }));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(inbox.getSnapshot().sendAt).toEqual({});
    expect(server.posted.map(({ path }) => path.split("/").at(-2))).toEqual(["a", "b"]);
  });

  it.each([0, 5_000])(
    "says of an answer that is no JSON that it is none (%i ms)",
    async (undoMs) => {
      const server = new InboxServer();
      server.items = [listed("a"), listed("b")];
      const inbox = new Inbox({
        url: "http://sayso.test/base",
        fetch: server.fetch,
        page: new FakePage(),
        undoMs,
      });
      close = inbox.open();
      await flush();
      const round: Record<string, unknown> = { approved: true };
      round.self = round;
      await inbox.answer("a", { status: "resolved", payload: round });
      const toJSON = () => {
        throw new TypeError("no");
      };
      await inbox.answer("b", { status: "resolved", payload: { approved: true, toJSON } });
      const { failures, sending, sendAt } = inbox.getSnapshot();
      expect(failures.a?.message).toMatch(/cannot be written as JSON/);
      expect(failures.b?.message).toBe("This cannot be written as JSON: no");
      expect({ sending, sendAt, posted: server.posted }).toEqual({
        sending: [],
        sendAt: {},
        posted: [],
      });
    },
  );

  it("leaves to others what they had said in the same words while ours was on its way", async () => {
    const server = new InboxServer();
    server.items = [listed("a")];
    const inbox = await follow(server);
    let arrive: (reply: Response) => void = () => undefined;
    server.replies.push(() => new Promise((resolve) => (arrive = resolve)));
    const sent = inbox.answer("a", yes);
    await flush();
    const answer = { ...yes, by: "kim", channel: "inbox" };
    server.items = [];
    server.tell({ type: "settled", interrupt: { ...listed("a"), status: "resolved", answer } });
    await flush();
    expect(view(inbox, "a")?.closed).toMatchObject({ ending: "answered" });
    arrive(
      problem(409, "already_resolved", {
        interrupts: [{ interruptId: "a", by: "kim", at: "2026-01-01T00:00:00Z" }],
      }),
    );
    await sent;
    expect(view(inbox, "a")?.closed).toMatchObject({ ending: "answeredElsewhere", by: "kim" });
  });

  it("tells an end of one from the same end of another, and keeps who it was", () => {
    const listing = readListed(listed("a"), 0);
    if (listing === null) throw new Error("it was not read");
    const { interrupt } = listing.item;
    const ours: Closed = { interrupt, ending: "answered", answer: yes, closedAt: 1 };
    const told = (by: string): Closed => ({ ...ours, ending: "answeredElsewhere", by });
    const before = withEnd(EMPTY_INBOX, ours);
    const lea = withEnd(before, told("lea"));
    expect(lea.closed.a).toMatchObject({ ending: "answered", by: "lea" });
    expect(withEnd(lea, told("lea"))).toBe(lea);
    expect(withEnd(lea, told("kim")).closed.a).toMatchObject({
      ending: "answeredElsewhere",
      by: "kim",
    });
  });

  it("says of an answer from before a reload that it may have arrived, until it is sent", async () => {
    const server = new InboxServer();
    server.items = [listed("a")];
    const load = async () => {
      const inbox = new Inbox({
        url: "http://sayso.test",
        fetch: server.fetch,
        page: new FakePage(),
        drafts: sessionDrafts(),
      });
      close?.();
      close = inbox.open();
      await flush();
      return inbox;
    };
    (await load()).keep("a", yes);
    const inbox = await load();
    expect(inbox.getSnapshot()).toMatchObject({ restored: ["a"], left: [] });
    server.replies.push(() => problem(503, "unavailable"));
    await inbox.send(["a"]);
    expect(inbox.getSnapshot()).toMatchObject({ restored: [], answers: { a: yes } });
    sessionStorage.clear();
  });

  it("sends nothing that waited when the page turned out to be somebody else's", async () => {
    const server = new InboxServer();
    server.items = [listed("a"), listed("b")];
    const inbox = await follow(server, new FakePage(), 5_000);
    await inbox.answer("a", yes);
    inbox.suspend();
    await vi.advanceTimersByTimeAsync(5_000);
    await inbox.answer("b", { status: "cancelled" });
    close?.();
    close = undefined;
    inbox.resume();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(server.posted).toEqual([]);
    expect(inbox.getSnapshot()).toMatchObject({ left: ["a", "b"], sendAt: {} });
  });

  it("keeps no answer waiting that could not leave with its page, nor one nobody looks at", async () => {
    const server = new InboxServer();
    server.items = [listed("a"), listed("b"), listed("c")];
    const page = new FakePage();
    const inbox = await follow(server, page, 5_000);
    const long = (length: number) =>
      ({
        status: "resolved",
        payload: { approved: false, reason: "ü".repeat(length) },
      }) as const;
    await inbox.answer("a", long(20_000));
    expect(server.posted).toHaveLength(0);
    server.replies.push(() => Response.json({ runId: "r" }));
    await inbox.answer("b", long(20_000));
    expect(server.posted).toHaveLength(1);
    server.replies.push(
      () => Response.json({ runId: "r" }),
      () => Response.json({ runId: "r" }),
    );
    page.turn(true);
    await inbox.answer("c", yes);
    expect(server.posted.map(({ path }) => path.split("/").at(-2))).toEqual(["b", "a", "c"]);
    expect(server.outliving).toBe(3);
  });

  it("keeps what came of a call that was decided here, and asks again for what still ran", async () => {
    const server = new InboxServer();
    server.items = [listed("a")];
    const page = new FakePage();
    const inbox = await follow(server, page);
    server.replies.push(() => Response.json({ runId: "run_1" }));
    void inbox.answer("a", yes);
    await flush();
    const answer = { status: "resolved", payload: { approved: true }, by: "lea", channel: "inbox" };
    const settled = { ...listed("a"), status: "resolved", answer };
    const running = { status: "running", at: "2026-01-01T00:00:00Z" };
    server.items = [];
    server.tell({ type: "result", interrupt: { ...settled, result: running } });
    await flush();
    expect(view(inbox, "a")?.closed).toMatchObject({
      ending: "answered",
      result: { status: "running" },
    });
    page.turn(true);
    const executed = { status: "executed", text: "Paid.", at: "2026-01-01T00:00:02Z", ms: 2000 };
    server.settled.set("a", { ...settled, result: executed });
    page.turn(false);
    await flush();
    await flush();
    expect(view(inbox, "a")?.closed).toMatchObject({
      ending: "answered",
      result: { status: "executed", text: "Paid.", ms: 2000 },
    });
  });

  it("lists everything that is open, page by page, and passes over what cannot be read", async () => {
    const server = new InboxServer();
    server.pageSize = 2;
    server.items = [listed("a"), listed("b"), { id: "half" }, listed("c")];
    const inbox = await follow(server);
    expect(open(inbox)).toEqual(["a", "b", "c"]);
    expect(inbox.getSnapshot().connection).toEqual({ status: "ready" });
    expect(inbox.getSnapshot().items[0]?.agent).toBe("ops");
  });

  it("shows what has come of a list whose further pages are refused for now, or too many", async () => {
    const server = new InboxServer();
    server.pageSize = 1;
    server.mostPages = 2;
    server.items = [listed("a"), listed("b"), listed("c")];
    const refused = await follow(server);
    expect(open(refused)).toEqual(["a", "b"]);
    expect(refused.getSnapshot()).toMatchObject({ partial: true, connection: { status: "ready" } });

    close?.();
    server.mostPages = Infinity;
    server.lists.length = 0;
    server.items = Array.from({ length: 150 }, (_, index) => listed(`many-${String(index)}`));
    const many = await follow(server);
    for (let turns = 0; turns < 100; turns++) await flush();
    expect(server.lists).toHaveLength(100);
    expect(many.getSnapshot()).toMatchObject({ partial: true, connection: { status: "ready" } });

    close?.();
    const none = new InboxServer();
    none.mostPages = 0;
    const lost = await follow(none);
    expect(lost.getSnapshot().connection).toMatchObject({ status: "lost" });
  });

  it("takes in what is asked, changed, decided and deleted elsewhere", async () => {
    const server = new InboxServer();
    server.items = [listed("a"), listed("b"), listed("z", { threadId: "t-9" })];
    const inbox = await follow(server);
    server.tell({ type: "opened", interrupt: listed("n", { createdAt: "2026-01-02T00:00:00Z" }) });
    server.tell({ type: "assigned", interrupt: listed("b", { assignedTo: "Ada" }) });
    const answer = { held: false, ...yes, by: "eve", at: "2026-01-02T00:00:00Z" };
    server.tell({ type: "settled", interrupt: listed("a", { status: "resolved", answer }) });
    server.tell({ type: "deleted", threadId: "t-9" });
    await flush();
    expect(open(inbox)).toEqual(["b", "n"]);
    expect(inbox.getSnapshot().items[0]?.assignedTo).toBe("Ada");
    expect(view(inbox, "a")?.closed).toMatchObject({
      ending: "answeredElsewhere",
      by: "eve",
      answer: yes,
    });
    expect(view(inbox, "z")?.closed?.ending).toBe("superseded");
  });

  it("shares one stream among its users and lets it go with the last", async () => {
    const server = new InboxServer();
    const inbox = await follow(server);
    const second = inbox.open();
    await flush();
    expect(server.streams).toBe(1);
    second();
    second();
    await flush();
    expect(server.streams).toBe(1);
    close?.();
    await flush();
    expect(server.streams).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("comes back by itself when the server was away, and finds out what it missed", async () => {
    const server = new InboxServer();
    server.items = [listed("a"), listed("b")];
    const inbox = await follow(server);
    server.up = false;
    server.cut();
    await flush();
    expect(inbox.getSnapshot().connection.status).toBe("lost");
    expect(open(inbox)).toEqual(["a", "b"]);
    server.up = true;
    server.items = [listed("b")];
    server.settled.set(
      "a",
      listed("a", { status: "cancelled", answer: { status: "cancelled", by: "eve" } }),
    );
    await vi.advanceTimersByTimeAsync(600);
    expect(inbox.getSnapshot().connection.status).toBe("ready");
    expect(open(inbox)).toEqual(["b"]);
    expect(view(inbox, "a")?.closed).toMatchObject({ by: "eve", answer: { status: "cancelled" } });
  });

  it("counts a stream that says nothing for a minute as broken", async () => {
    const server = new InboxServer();
    const inbox = await follow(server);
    server.up = false;
    await vi.advanceTimersByTimeAsync(61_000);
    expect(inbox.getSnapshot().connection.status).toBe("lost");
  });

  it("holds no stream while nobody looks at the page, and is up to date on return", async () => {
    const server = new InboxServer();
    const page = new FakePage();
    const inbox = await follow(server, page);
    page.turn(true);
    await flush();
    expect(server.streams).toBe(0);
    server.items = [listed("a")];
    await vi.advanceTimersByTimeAsync(30_000);
    expect(open(inbox)).toEqual(["a"]);
    server.items = [listed("a"), listed("b")];
    page.turn(false);
    await flush();
    expect(open(inbox)).toEqual(["a", "b"]);
    expect(server.streams).toBe(1);
  });

  it("says when the server has no inbox, and when it does not know who asks, until asked again", async () => {
    const server = new InboxServer();
    server.streamReply = () => problem(404, "not_found");
    expect((await follow(server)).getSnapshot().connection.status).toBe("absent");
    close?.();
    server.streamReply = () => problem(401, "unauthenticated");
    const inbox = await follow(server);
    expect(inbox.getSnapshot().connection.status).toBe("refused");
    await vi.advanceTimersByTimeAsync(60_000);
    server.streamReply = undefined;
    server.items = [listed("a")];
    inbox.reconnect();
    await flush();
    expect(open(inbox)).toEqual(["a"]);
  });

  it("finds an interrupt that is no longer open by its id", async () => {
    const server = new InboxServer();
    server.settled.set("old", listed("old", { status: "expired", answer: { status: "expired" } }));
    const inbox = await follow(server);
    expect(await inbox.refresh("old")).toBe(true);
    expect(view(inbox, "old")?.closed?.ending).toBe("expired");
    expect(await inbox.refresh("never")).toBe(false);
  });
});

describe("an answer from the inbox", () => {
  async function asked(...ids: string[]) {
    const server = new InboxServer();
    server.items = ids.map((id) => listed(id));
    return { server, inbox: await follow(server) };
  }

  it("closes the question once the server has it", async () => {
    const { server, inbox } = await asked("a");
    server.replies.push(() => Response.json({ runId: "r" }));
    const done = inbox.answer("a", yes);
    expect(view(inbox, "a")?.phase).toBe("sending");
    await done;
    expect(server.posted).toEqual([
      { path: "/base/interrupts/a/answer", method: "POST", body: yes },
    ]);
    expect(view(inbox, "a")?.closed).toMatchObject({ ending: "answered", answer: yes });
    const answer = { held: false, ...yes, by: "local" };
    server.tell({ type: "settled", interrupt: listed("a", { status: "resolved", answer }) });
    await flush();
    expect(view(inbox, "a")?.closed?.ending).toBe("answered");
  });

  it("with a secret is one's own, also as the server tells of it, and keeps no secret", async () => {
    const secret = { type: "string", writeOnly: true };
    const responseSchema = {
      type: "object",
      properties: {
        approved: { type: "boolean" },
        editedArgs: { type: "object", properties: { key: secret } },
      },
    };
    const own = { status: "resolved", payload: { approved: true, editedArgs: { key: "hunter2" } } };
    const marked = { approved: true, editedArgs: { key: { secret: "0".repeat(64) } } };
    const ends = { status: "resolved", answer: { ...own, payload: marked, by: "ann" } };
    for (const first of ["reply", "stream"]) {
      const server = new InboxServer();
      server.items = [listed("a", { responseSchema })];
      const inbox = await follow(server);
      let reply: (response: Response) => void = () => undefined;
      server.replies.push(() => new Promise((resolve) => (reply = resolve)));
      void inbox.answer("a", own as Answer);
      await flush();
      const said = [
        () => {
          reply(Response.json({ runId: "r" }));
        },
        () => {
          server.tell({ type: "settled", interrupt: listed("a", { responseSchema, ...ends }) });
        },
      ];
      for (const say of first === "reply" ? said : said.reverse()) {
        say();
        await flush();
      }
      expect(view(inbox, "a")?.closed).toMatchObject({ ending: "answered" });
      close?.();
      if (first === "reply") expect(JSON.stringify(inbox.getSnapshot())).not.toContain("hunter2");
    }
  });

  it("is kept by the server while others of its thread are open, and can be taken back", async () => {
    const { server, inbox } = await asked("a", "b");
    server.replies.push(() => Response.json({ remaining: 1 }, { status: 202 }));
    await inbox.answer("a", yes);
    expect(view(inbox, "a")).toMatchObject({ phase: "answered", answer: yes });
    server.replies.push(() => Response.json({ remaining: 2 }));
    await inbox.withdraw("a");
    expect(server.posted[1]).toMatchObject({ method: "DELETE" });
    expect(view(inbox, "a")).toMatchObject({ phase: "open", answer: null });
  });

  it("[Q1] that comes too late says who was first", async () => {
    const { server, inbox } = await asked("a");
    const who = { interruptId: "a", by: "eve", at: "2026-01-01T00:00:00Z" };
    server.replies.push(() => problem(409, "already_resolved", { interrupts: [who] }));
    await inbox.answer("a", yes);
    expect(view(inbox, "a")?.closed).toMatchObject({ ending: "answeredElsewhere", by: "eve" });
  });

  it("[EX-02] after its time leaves a question that can only be cancelled", async () => {
    const { server, inbox } = await asked("a");
    server.replies.push(() =>
      problem(410, "interrupt_expired", { interrupts: [{ interruptId: "a" }] }),
    );
    await inbox.answer("a", yes);
    expect(view(inbox, "a")?.phase).toBe("expired");
    server.replies.push(() => Response.json({ runId: "r" }));
    await inbox.answer("a", { status: "cancelled" });
    expect(view(inbox, "a")?.phase).toBe("closed");
  });

  it("[CL-05] is checked before it is sent, and keeps the server's complaints at their places", async () => {
    const { server, inbox } = await asked("a");
    await inbox.answer("a", { status: "resolved", payload: { approved: "yes" } });
    expect(server.posted).toEqual([]);
    expect(view(inbox, "a")?.problems[0]?.pointer).toBe("/approved");
    const problems = [{ pointer: "/reason", message: "too rude" }];
    server.replies.push(() =>
      problem(422, "invalid_payload", { interrupts: [{ interruptId: "a", problems }] }),
    );
    await inbox.answer("a", yes);
    expect(view(inbox, "a")).toMatchObject({ phase: "open", problems });
    expect(inbox.getSnapshot().failures).toEqual({});
  });

  it("[CL-07] [T3] stays when nothing comes back, and the same is sent again", async () => {
    const { server, inbox } = await asked("a");
    server.replies.push(() => new Promise<never>(() => undefined));
    const done = inbox.answer("a", yes);
    await vi.advanceTimersByTimeAsync(30_000);
    await done;
    expect(inbox.getSnapshot().failures.a?.kind).toBe("timeout");
    expect(view(inbox, "a")).toMatchObject({ phase: "answered", answer: yes });
    server.replies.push(() => Response.json({ runId: "r" }));
    await inbox.send(["a"]);
    expect(server.posted[1]).toEqual(server.posted[0]);
    expect(view(inbox, "a")?.phase).toBe("closed");
  });

  it("takes HTML on 200 for no answer at all", async () => {
    const { server, inbox } = await asked("a");
    server.replies.push(() => new Response("<html></html>"));
    await inbox.answer("a", yes);
    expect(inbox.getSnapshot().failures.a?.message).toMatch(/not as a Sayso server/);
  });

  it("is not sent twice by a double click", async () => {
    const { server, inbox } = await asked("a");
    server.replies.push(() => Response.json({ runId: "r" }));
    await Promise.all([inbox.answer("a", yes), inbox.answer("a", yes), inbox.send(["a"])]);
    expect(server.posted).toHaveLength(1);
  });

  it("[V2] goes out with others in one request, and each thread has its own outcome", async () => {
    const server = new InboxServer();
    server.items = [
      listed("a"),
      listed("b", { threadId: "t-2" }),
      listed("c", { threadId: "t-3" }),
    ];
    const inbox = await follow(server);
    for (const id of ["a", "b", "c"]) inbox.keep(id, yes);
    const busy = { status: 409, code: "thread_busy", detail: "busy" };
    server.replies.push(() =>
      Response.json(
        {
          items: [
            { threadId: "t-1", runId: "r" },
            { threadId: "t-2", remaining: 1 },
            { threadId: "t-3", problem: busy },
          ],
        },
        { status: 207 },
      ),
    );
    await inbox.send(["a", "b", "c"]);
    expect(server.posted).toHaveLength(1);
    expect(server.posted[0]?.path).toBe("/base/interrupts/answers");
    expect(view(inbox, "a")?.closed?.ending).toBe("answered");
    expect(view(inbox, "b")?.phase).toBe("answered");
    expect(inbox.getSnapshot().failures.c?.code).toBe("thread_busy");
  });
});
