import { act, render, screen, waitFor } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { afterEach, describe, expect, it, vi } from "vitest";
import { InterruptCard, RevealProvider, type Reveal } from "../../src/components/index.js";
import { failureFromHttp } from "../../src/core/failure.js";
import {
  callAbout,
  Inbox,
  inboxView,
  sessionDrafts,
  validateAnswer,
  withoutSecrets,
  withSecretsLeft,
} from "../../src/core/index.js";
import { useInbox } from "../../src/react/index.js";
import { InboxServer, listed } from "../core/inboxServer.js";
import { approval } from "../wire.js";

const PLACE = { secret: "a".repeat(64) };
const OTHER = { secret: "b".repeat(64) };
const ARGS = { user: "ann", password: PLACE };
const SCHEMA = {
  type: "object",
  properties: {
    approved: { type: "boolean" },
    editedArgs: {
      type: "object",
      properties: {
        user: { type: "string", title: "User" },
        password: {
          type: "string",
          title: "Password",
          format: "password",
          writeOnly: true,
          minLength: 6,
          pattern: "^[a-z0-9]+$",
        },
      },
      required: ["user", "password"],
    },
  },
  required: ["approved"],
};
const value = (text: unknown) => vi.fn<Reveal>().mockResolvedValue({ ok: true, value: text });

function show(onReveal: Reveal | null, sayso: Record<string, unknown> = {}, phase = "open") {
  const ours = { tool: "sign_in", arguments: ARGS, may: ["answer"], reveal: ["/password"] };
  const interrupt = approval("a", {
    responseSchema: SCHEMA,
    metadata: { sayso: { ...ours, ...sayso } },
  });
  const onAnswer = vi.fn();
  const view = { interrupt, phase, answer: null, problems: [], closed: null, asked: 1 };
  const call = { id: "c", name: "sign_in", args: ARGS, text: "" };
  const card = (
    <InterruptCard
      view={view as never}
      call={call}
      clock={() => 0}
      onAnswer={onAnswer}
      onWithdraw={vi.fn()}
    />
  );
  const page =
    onReveal === null ? card : <RevealProvider onReveal={onReveal}>{card}</RevealProvider>;
  return { onAnswer, ...render(page) };
}

describe("a call that has a secret", () => {
  it("says that it is not shown, and has no button where nothing shows it", () => {
    const { container } = show(null);
    expect(screen.getByText("secret, not shown")).toBeVisible();
    expect(container.textContent).not.toContain(PLACE.secret);
    expect(screen.queryByRole("button", { name: /Show/ })).toBeNull();
  });

  it.each([
    ["may not answer", { may: ["cancel"] }],
    ["is not to be shown it", { reveal: undefined }],
  ])("has no button for who %s", (_, sayso) => {
    show(value("hunter2"), sayso);
    expect(screen.queryByRole("button", { name: /Show/ })).toBeNull();
  });

  it("shows it to whoever asks, hides it again, and forgets it with the card", async () => {
    const onReveal = value("hunter2");
    const { container, unmount } = show(onReveal);
    await userEvent.click(screen.getByRole("button", { name: "Show password" }));
    await waitFor(() => {
      expect(screen.getByText("hunter2")).toBeVisible();
    });
    expect(onReveal).toHaveBeenCalledExactlyOnceWith("a", "/password");
    await userEvent.click(screen.getByRole("button", { name: "Hide password" }));
    expect(container.textContent).not.toContain("hunter2");
    unmount();
    show(value("hunter2"));
    expect(document.body.textContent).not.toContain("hunter2");
    const kept = [sessionStorage, localStorage].map((storage) => JSON.stringify(storage));
    expect(kept.join("")).not.toContain("hunter2");
  });

  it("keeps the focus on its button while the server is asked, and asks once", async () => {
    let arrive: (reply: { readonly ok: true; readonly value: unknown }) => void = () => undefined;
    const onReveal = vi.fn<Reveal>().mockReturnValue(new Promise((resolve) => (arrive = resolve)));
    show(onReveal);
    const button = screen.getByRole("button", { name: "Show password" });
    button.focus();
    await userEvent.keyboard("{Enter}{Enter}");
    expect(button).toBeEnabled();
    expect(button).toHaveAttribute("aria-disabled", "true");
    expect(onReveal).toHaveBeenCalledOnce();
    await act(() => {
      arrive({ ok: true, value: "hunter2" });
      return Promise.resolve();
    });
    expect(button).toHaveFocus();
    expect(button).toHaveAccessibleName("Hide password");
    expect(button).toHaveAttribute("aria-disabled", "false");
  });

  it("tells why it is not shown", async () => {
    const failure = failureFromHttp(409, '{"code": "already_resolved", "detail": "over"}');
    show(vi.fn<Reveal>().mockResolvedValue({ ok: false, failure }));
    await userEvent.click(screen.getByRole("button", { name: "Show password" }));
    expect(await screen.findByText(/already decided/)).toBeVisible();
  });

  it("says so where showing it breaks, and can be asked again", async () => {
    const onReveal = value("hunter2").mockRejectedValueOnce(new Error("no key"));
    show(onReveal);
    const button = screen.getByRole("button", { name: "Show password" });
    await userEvent.click(button);
    expect(await screen.findByText("It cannot be shown: no key")).toBeVisible();
    expect(button).toHaveAttribute("aria-disabled", "false");
    await userEvent.click(button);
    expect(await screen.findByText("hunter2")).toBeVisible();
  });

  it("keeps the secret that nobody types anew where other arguments are edited", async () => {
    const { onAnswer, container } = show(null);
    await userEvent.click(screen.getByRole("button", { name: "Edit arguments" }));
    const user = await screen.findByLabelText(/User/);
    await userEvent.clear(user);
    await userEvent.type(user, "lea");
    expect(container.textContent).not.toContain(PLACE.secret);
    await userEvent.click(screen.getByRole("button", { name: "Approve with changes" }));
    const editedArgs = { user: "lea", password: PLACE };
    expect(onAnswer).toHaveBeenCalledWith({
      status: "resolved",
      payload: { approved: true, editedArgs },
    });
  });
});

describe("a call that has a secret, in the inbox", () => {
  const view = (inbox: Inbox) => inboxView(inbox.getSnapshot(), "a", Date.now());

  function Card({ inbox }: { readonly inbox: Inbox }) {
    useInbox(inbox);
    const question = view(inbox);
    if (question === null) return null;
    return (
      <InterruptCard
        view={question}
        call={callAbout(question.interrupt, [])}
        clock={Date.now}
        onAnswer={(answer) => void inbox.answer("a", answer)}
        onWithdraw={() => void inbox.withdraw("a")}
        onSendNow={() => void inbox.send(["a"])}
      />
    );
  }

  async function edit(undoMs = 0) {
    const server = new InboxServer();
    const metadata = { sayso: { tool: "sign_in", arguments: ARGS } };
    server.items = [listed("a", { responseSchema: SCHEMA, metadata })];
    server.replies.push(() => Response.json({ runId: "r" }));
    const inbox = new Inbox({
      url: "http://sayso.test",
      fetch: server.fetch,
      validate: validateAnswer,
      drafts: sessionDrafts(),
      undoMs,
    });
    const { container } = render(<Card inbox={inbox} />);
    await userEvent.click(await screen.findByRole("button", { name: "Edit arguments" }));
    return { server, inbox, container, user: await screen.findByLabelText(/User/) };
  }

  const approve = () =>
    userEvent.click(screen.getByRole("button", { name: "Approve with changes" }));

  afterEach(() => {
    sessionStorage.clear();
  });

  it.each([["form"], ["JSON"]])(
    "goes out with the secret that was left, from a %s",
    async (how) => {
      const { server, user } = await edit();
      if (how === "form") {
        await userEvent.clear(user);
        await userEvent.type(user, "lea");
      } else {
        await userEvent.click(screen.getByRole("button", { name: "Edit as JSON" }));
        const text = screen.getByRole("textbox", { name: "Arguments as JSON" });
        await userEvent.clear(text);
        await userEvent.click(text);
        await userEvent.paste('{"user": "lea", "password": "(not shown)"}');
      }
      await approve();
      expect(await screen.findByText(/Approved/)).toBeVisible();
      const editedArgs = { user: "lea", password: PLACE };
      expect(server.posted.map(({ body }) => body)).toMatchObject([
        { status: "resolved", payload: { approved: true, editedArgs } },
      ]);
    },
  );

  it("keeps and shows nothing of a secret that is typed anew, while it waits to be sent", async () => {
    const { inbox, server, container } = await edit(3_600_000);
    const password = screen.getByLabelText(/Password/);
    await userEvent.clear(password);
    await userEvent.type(password, "hunter2");
    await approve();
    expect(await screen.findByRole("button", { name: "Undo" })).toBeVisible();
    expect(container.textContent).not.toContain("hunter2");
    expect(screen.getByText("(not shown)")).toBeVisible();
    expect(JSON.stringify(Object.entries(sessionStorage))).not.toContain("hunter2");
    await inbox.send(["a"]);
    expect(JSON.stringify(server.posted)).toContain("hunter2");
  });

  it("is checked where a secret is typed anew", async () => {
    const { server } = await edit();
    const password = screen.getByLabelText(/Password/);
    await userEvent.clear(password);
    await userEvent.type(password, "abc");
    await approve();
    expect(await screen.findByText("Must have at least 6 characters.")).toBeVisible();
    expect(server.posted).toEqual([]);
  });
});

describe("secrets in a list", () => {
  const items = [
    { name: "a", key: PLACE },
    { name: "b", key: OTHER },
  ];
  const shown = withoutSecrets(items) as unknown[];

  it("go with the item that they belong to", () => {
    expect(withSecretsLeft(shown, items)).toEqual(items);
    expect(withSecretsLeft([shown[1]], items)).toEqual([items[1]]);
  });

  it("go with no item that is another one", () => {
    const changed = [{ name: "c", key: "(not shown)" }];
    expect(withSecretsLeft(changed, items)).toEqual(changed);
  });
});
