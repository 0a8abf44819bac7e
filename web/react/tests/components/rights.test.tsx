import { act, render, screen } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { describe, expect, it, vi } from "vitest";
import {
  InterruptCard,
  InterruptGroup,
  SignInAgainProvider,
  type SignInAgain,
} from "../../src/components/index.js";
import { failureFromHttp } from "../../src/core/failure.js";
import { InterruptController, rightsOf, viewOf } from "../../src/core/index.js";
import { approval, finished, interrupted, run, ScriptedServer, snapshot } from "../wire.js";

const waiting = { roles: ["lead", "finance"], need: { lead: 1, finance: 1 } };
const told = (may: string[], waitsFor: Record<string, unknown> = waiting) =>
  approval("a", { metadata: { sayso: { may, waitsFor } } });

function show(interrupt: ReturnType<typeof approval>, onSignIn?: SignInAgain) {
  const input = { onAnswer: vi.fn(), onWithdraw: vi.fn(), onTakeBack: vi.fn() };
  const view = { interrupt, phase: "open", answer: null, problems: [], closed: null, asked: 1 };
  const card = <InterruptCard view={view as never} call={null} clock={() => 0} {...input} />;
  const led = onSignIn !== undefined;
  render(led ? <SignInAgainProvider onSignIn={onSignIn}>{card}</SignInAgainProvider> : card);
  return input;
}

describe("a question that this reader may not answer", () => {
  it("says for whom it waits, and offers only to withdraw it", async () => {
    const { onAnswer } = show(told(["cancel"], { ...waiting, missing: { lead: 1, finance: 1 } }));
    expect(screen.getByText("Waits for the role lead and the role finance")).toBeVisible();
    expect(screen.queryByRole("button", { name: /Approve|Deny|Edit/ })).toBeNull();
    await userEvent.click(screen.getByRole("button", { name: "Withdraw request" }));
    expect(onAnswer).toHaveBeenCalledWith({ status: "cancelled" });
  });

  it("says that one has agreed, for whom it still waits, and takes that back", async () => {
    const agreed = [{ by: "lea", roles: ["lead"] }];
    const missing = { lead: 0, finance: 1 };
    const more = { ...waiting, missing, agreed, you: "agreed" };
    const { onTakeBack } = show(told(["cancel", "takeBack"], more));
    expect(screen.getByText("You approved · waits for the role finance")).toBeVisible();
    expect(screen.queryByRole("button", { name: "Withdraw request" })).toBeNull();
    await userEvent.click(screen.getByRole("button", { name: "Take back" }));
    expect(onTakeBack).toHaveBeenCalledOnce();
  });

  it.each([
    ["Your answer is saved", "held"],
    ["Answered by lea", undefined],
  ])("says of an answer that waits for the rest of its turn: %s", (said, you) => {
    const held = { by: "lea", at: "2026-01-01T00:00:00Z" };
    show(told(["cancel"], { ...waiting, missing: {}, held, ...(you !== undefined && { you }) }));
    const rest = "continues once the other questions are answered";
    expect(screen.getByText(`${said} · ${rest}`)).toBeVisible();
  });

  it("says that it is not for who asks", () => {
    show(told(["cancel"], { ...waiting, roles: ["lead"], missing: 1, you: "requester" }));
    expect(screen.getByText("Waits for the role lead · not you, since you asked")).toBeVisible();
    expect(screen.queryByRole("button", { name: "Approve" })).toBeNull();
  });

  it("offers no answer before a fresh sign-in, and says so", () => {
    show(told(["signIn", "cancel", "assign"]));
    expect(screen.getByText("Sign in again to answer this")).toBeVisible();
    expect(screen.queryByRole("button", { name: "Approve" })).toBeNull();
  });

  it("leads to a fresh sign-in where the page has one", async () => {
    const metadata = { sayso: { may: ["signIn"], approvers: { by: ["lead"], stepUp: 300 } } };
    const seconds: number[] = [];
    show(approval("a", { metadata }), (age) => seconds.push(age));
    await userEvent.click(screen.getByRole("button", { name: "Sign in again to approve" }));
    expect(seconds).toEqual([300]);
    expect(screen.getByText("This takes a recent sign-in")).toBeVisible();
  });

  it("says that the directory knows too few who may answer", () => {
    const unfilled = "The directory knows too few people who may answer this.";
    show(approval("a", { metadata: { sayso: { may: ["cancel"], waitsFor: waiting, unfilled } } }));
    expect(screen.getByRole("note")).toHaveTextContent(unfilled);
  });

  it("says what others have changed who agreed, while it can be answered", () => {
    const changes = [{ path: "/amount", from: 500, to: 5 }];
    show(told(["answer", "cancel"], { ...waiting, agreed: [{ by: "lea", changes }] }));
    expect(screen.getByText("Approved by lea with changes")).toBeVisible();
    expect(screen.getByText("500 → 5")).toBeVisible();
    expect(screen.getByRole("button", { name: "Approve" })).toBeVisible();
  });

  it("is any other one's to answer, also on servers that say nothing of it", () => {
    show(approval("a"));
    expect(screen.getByRole("button", { name: "Approve" })).toBeVisible();
    expect(rightsOf(approval("a"))).toMatchObject({ answer: true, cancel: true, waitsFor: null });
  });
});

it("arguments that come back as they were are no change", () => {
  const call = { id: "call-a", name: "pay", args: { x: 1, y: [2] }, text: "" };
  const editedArgs = { type: "object", properties: { x: { type: "integer" } } };
  const properties = { approved: { type: "boolean" }, editedArgs };
  const interrupt = approval("a", { responseSchema: { type: "object", properties } });
  const show = (x: number) => {
    const payload = { approved: true, editedArgs: { y: [2], x } };
    const answer = { status: "resolved", payload } as const;
    const closed = { interrupt, ending: "answered", answer, closedAt: 0 } as const;
    const view = { interrupt, phase: "closed", answer, problems: [], closed, asked: 1 } as const;
    const nothing = () => undefined;
    const props = { view, call, clock: () => 0, onAnswer: nothing, onWithdraw: nothing };
    return render(<InterruptCard {...props} />).container.textContent;
  };
  expect(show(1)).toMatch(/Arguments[^]*Approved by you/);
  expect(show(2)).toMatch(/Edited arguments[^]*Approved with changes by you/);
});

it("somebody else's agreement is no new question: what was chosen here stays", async () => {
  const votes = { ...waiting, agreed: [{ by: "lea" }] };
  const server = new ScriptedServer()
    .onRun(run(...snapshot(), interrupted(told(["answer"]), approval("b"))))
    .onConnect(run(...snapshot(), interrupted(told(["answer"], votes), approval("b"))));
  const controller = new InterruptController(server.agent());
  controller.subscribe(() => undefined);
  await controller.runs.start("run");
  controller.answer("a", { status: "resolved", payload: { approved: true } });
  await controller.connect();
  const view = viewOf(controller.getSnapshot(), "a");
  expect(view).toMatchObject({ phase: "answered", asked: 1 });
  expect(view && rightsOf(view.interrupt).agreed).toEqual(["lea"]);
});

describe("an agreement given in the chat", () => {
  const more = { ...waiting, agreed: [{ by: "lea" }], you: "agreed" };
  const before = told(["cancel", "takeBack"], more);
  async function drawn(options: ConstructorParameters<typeof InterruptController>[1]) {
    const server = new ScriptedServer()
      .onRun(run(...snapshot(), interrupted(before)))
      .onConnect(run(...snapshot(), interrupted(told(["answer", "cancel"]))));
    const controller = new InterruptController(server.agent(), options);
    controller.subscribe(() => undefined);
    await controller.runs.start("run");
    const [batch] = controller.getSnapshot().batches;
    if (batch === undefined) throw new Error("nothing was asked");
    render(<InterruptGroup controller={controller} batch={batch} messages={[]} />);
  }

  it("is taken back at the server, and the question is open again", async () => {
    const takeBack = vi.fn(() => Promise.resolve(null));
    await drawn({ takeBack });
    await userEvent.click(screen.getByRole("button", { name: "Take back" }));
    expect(takeBack).toHaveBeenCalledExactlyOnceWith("a");
    expect(await screen.findByRole("button", { name: "Approve" })).toBeVisible();
  });

  it("says why it was not taken back", async () => {
    const failure = { ...failureFromHttp(409, ""), message: "It is settled by now." };
    await drawn({ takeBack: () => Promise.resolve(failure) });
    await userEvent.click(screen.getByRole("button", { name: "Take back" }));
    expect(await screen.findByText("It is settled by now.")).toBeVisible();
  });

  it("is not offered to be taken back where nobody says how", async () => {
    await drawn({});
    expect(screen.getByText(/You approved/)).toBeVisible();
    expect(screen.queryByRole("button", { name: "Take back" })).toBeNull();
  });
});

describe("own questions beside others'", () => {
  const held = { by: "ann", at: "2026-01-01T00:00:00Z" };
  const own = approval("own");
  const kept = approval("own", {
    metadata: { sayso: { may: ["answer", "cancel", "takeBack"], held } },
  });
  const others = told(["cancel"], { ...waiting, missing: { lead: 1 } });
  const beside = (event: ReturnType<typeof interrupted>) => ({
    ...event,
    metadata: { sayso: { held: [kept] } },
  });
  async function drawn(
    options: ConstructorParameters<typeof InterruptController>[1],
    server = new ScriptedServer()
      .onRun(run(...snapshot(), interrupted(own, others)))
      .onConnect(run(...snapshot(), beside(interrupted(others)))),
    origin: "run" | "sync" = "run",
  ) {
    const controller = new InterruptController(server.agent(), options);
    controller.subscribe(() => undefined);
    await controller.runs.start(origin);
    const [batch] = controller.getSnapshot().batches;
    if (batch === undefined) throw new Error("nothing was asked");
    render(<InterruptGroup controller={controller} batch={batch} messages={[]} />);
    return { controller, server };
  }
  const yes = { status: "resolved", payload: { approved: true } } as const;
  const rest = "Your answer is saved · continues once the other questions are answered";

  it("are sent before others have decided, and told as kept", async () => {
    const hold = vi.fn(() => Promise.resolve(null));
    const { controller, server } = await drawn({ hold });
    expect(screen.getByText("0 of 1 answered · 1 waiting for others")).toBeVisible();
    await userEvent.click(screen.getByRole("button", { name: "Approve" }));
    await userEvent.click(screen.getByRole("button", { name: "Send your answer" }));
    expect(hold).toHaveBeenCalledExactlyOnceWith(new Map([["own", yes]]));
    expect(await screen.findByText(rest)).toBeVisible();
    expect(screen.queryByRole("button", { name: /Send/ })).toBeNull();
    expect(controller.getSnapshot()).toMatchObject({ status: "awaiting", answers: {} });
    expect(server.runs).toHaveLength(1);
  });

  it("stay as answered, with the reason, where that is refused", async () => {
    const failure = { ...failureFromHttp(503, ""), message: "The store is away." };
    const { controller } = await drawn({ hold: () => Promise.resolve(failure) });
    controller.answer("own", yes);
    await userEvent.click(await screen.findByRole("button", { name: "Send your answer" }));
    expect(await screen.findByText("The store is away.")).toBeVisible();
    expect(controller.getSnapshot().answers).toEqual({ own: yes });
  });

  it("are there after a reload, and taken back", async () => {
    const takeBack = vi.fn(() => Promise.resolve(null));
    const server = new ScriptedServer().onConnect(
      run(...snapshot(), beside(interrupted(others))),
      run(...snapshot(), interrupted(own, others)),
    );
    await drawn({ takeBack }, server, "sync");
    expect(screen.getByText(rest)).toBeVisible();
    await userEvent.click(screen.getByRole("button", { name: "Take back" }));
    expect(takeBack).toHaveBeenCalledExactlyOnceWith("own");
    expect(await screen.findByRole("button", { name: "Approve" })).toBeVisible();
  });

  it("go out alone once the others are held", async () => {
    const server = new ScriptedServer()
      .onConnect(
        run(...snapshot(), { ...interrupted(own), metadata: { sayso: { held: [others] } } }),
      )
      .onRun(run(finished));
    const { controller } = await drawn({ hold: vi.fn() }, server, "sync");
    controller.answer("own", yes);
    expect(controller.holds).toBe(false);
    await controller.submit();
    expect(server.runs[0]?.body.resume).toEqual([{ interruptId: "own", ...yes }]);
    const { closed, held } = controller.getSnapshot();
    expect([held, closed.map((item) => [item.interrupt.id, item.ending])]).toEqual([
      [],
      [
        ["own", "answered"],
        ["a", "answeredElsewhere"],
      ],
    ]);
  });
});

it("says whose agreement a change has taken away", () => {
  const interrupt = told(["cancel", "takeBack"], { ...waiting, you: "agreed" });
  const view = { interrupt, phase: "open", answer: null, problems: [], closed: null, asked: 1 };
  const nothing = () => undefined;
  const props = { call: null, clock: () => 0, onAnswer: nothing, onWithdraw: nothing };
  render(<InterruptCard view={{ ...view, withdrawn: ["lea"] } as never} {...props} />);
  expect(
    screen.getByText("lea approved an earlier version, so that no longer counts"),
  ).toBeVisible();
});

describe("answers that the server refuses since the sign-in is too old", () => {
  const fresh = (id: string, stepUp: number) =>
    approval(id, { metadata: { sayso: { may: ["answer"], approvers: { stepUp } } } });
  it.each([
    ["one", [fresh("a", 300)], 300],
    ["several", [fresh("a", 300), fresh("b", 60), approval("c")], 60],
  ])("lead to a fresh one: %s", async (_, asked, seconds) => {
    const refused = Response.json({ code: "step_up_required" }, { status: 403 });
    const server = new ScriptedServer().onRun(run(interrupted(...asked)), () => refused);
    const controller = new InterruptController(server.agent());
    controller.subscribe(() => undefined);
    await controller.runs.start("run");
    const [batch] = controller.getSnapshot().batches;
    if (batch === undefined) throw new Error("nothing was asked");
    const onSignIn = vi.fn();
    render(
      <SignInAgainProvider onSignIn={onSignIn}>
        <InterruptGroup controller={controller} batch={batch} messages={[]} />
      </SignInAgainProvider>,
    );
    expect(screen.queryByRole("button", { name: "Sign in again" })).toBeNull();
    await act(async () => {
      for (const { id } of asked) {
        controller.answer(id, { status: "resolved", payload: { approved: true } });
      }
      await controller.submit();
    });
    await userEvent.click(screen.getByRole("button", { name: "Sign in again" }));
    expect(onSignIn).toHaveBeenCalledExactlyOnceWith(seconds);
    expect(Object.keys(controller.getSnapshot().answers)).toHaveLength(asked.length);
  });
});
