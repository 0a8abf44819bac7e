import { act, render, screen, waitFor } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { StrictMode, type ReactNode } from "react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  InterruptSlot,
  SaysoProvider,
  useHumanInTheLoop,
  useInterrupt,
  useThread,
} from "../../src/index.js";
import {
  approval,
  calls,
  finished,
  interrupted,
  run,
  says,
  ScriptedServer,
  snapshot,
} from "../wire.js";

interface Meeting {
  readonly reason: string;
}

const PARAMETERS = {
  type: "object",
  properties: { reason: { type: "string" } },
  required: ["reason"],
};

function Meetings() {
  useHumanInTheLoop<Meeting>({
    name: "schedule_meeting",
    description: "Lets the person pick a slot.",
    parameters: PARAMETERS,
    render: ({ args, status, respond, result, toolCallId }) => (
      <div role="group" aria-label={toolCallId}>
        <p>{`${args.reason ?? "…"} ${status} ${result ?? ""}`}</p>
        <button disabled={respond === undefined} onClick={() => void respond?.({ slot: "Mon 9" })}>
          Monday
        </button>
        <button disabled={respond === undefined} onClick={() => void respond?.("none fits")}>
          Decline
        </button>
      </div>
    ),
  });
  return null;
}

function Approvals() {
  useInterrupt({
    render: ({ resolve }) => (
      <button onClick={() => void resolve({ approved: true })}>Approve</button>
    ),
  });
  return null;
}

function Chat() {
  const { messages, send, status, open, threadId } = useThread();
  return (
    <>
      <p data-testid="said">{JSON.stringify(messages)}</p>
      <p data-testid="status">{`${threadId} ${status} ${open}`}</p>
      <button onClick={() => send("meet")}>Send</button>
    </>
  );
}

function mount(server: ScriptedServer, children: ReactNode = <Chat />) {
  return render(
    <StrictMode>
      <SaysoProvider agents={{ ops: server.agent() }}>
        {children}
        <Meetings />
        <InterruptSlot />
      </SaysoProvider>
    </StrictMode>,
  );
}

const nothing = () => new ScriptedServer().onConnect(run(...snapshot(), finished));
const asks = (...ids: string[]) =>
  run(...ids.flatMap((id) => calls(id, "schedule_meeting", { reason: "Quarter" })), finished);
/** A thread as the server has it while the call `c1` waits. */
const WAITING = [
  { id: "u1", role: "user", content: "meet" },
  {
    id: "m0",
    role: "assistant",
    toolCalls: [
      {
        id: "c1",
        type: "function",
        function: { name: "schedule_meeting", arguments: '{"reason":"Quarter"}' },
      },
    ],
  },
];
const sent = (server: ScriptedServer, index: number) => server.runs[index]?.body;
const said = async (text: string) => {
  await waitFor(() => {
    expect(screen.getByTestId("said")).toHaveTextContent(text);
  });
};

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe("a tool that a person answers", () => {
  it("[TC-14] [B10] is offered, drawn with its arguments, and gets exactly what the person said", async () => {
    const server = nothing().onRun(asks("c1"), run(...says("m1", "Booked."), finished));
    mount(server);
    await userEvent.click(screen.getByRole("button", { name: "Send" }));
    expect(await screen.findByText("Quarter executing")).toBeVisible();
    expect(sent(server, 0)?.tools).toEqual([
      {
        name: "schedule_meeting",
        description: "Lets the person pick a slot.",
        parameters: PARAMETERS,
      },
    ]);
    await userEvent.click(screen.getByRole("button", { name: "Monday" }));
    await said("Booked.");
    expect(sent(server, 1)?.messages.at(-1)).toMatchObject({
      role: "tool",
      toolCallId: "c1",
      content: '{"slot":"Mon 9"}',
    });
    expect(sent(server, 1)?.resume).toBeUndefined();
    expect(screen.getByText('Quarter complete {"slot":"Mon 9"}')).toBeVisible();
    expect(screen.getByRole("button", { name: "Monday" })).toBeDisabled();
  });

  it("[A9] waits for its person, however long ago the run that left it is over", async () => {
    const server = nothing().onRun(asks("c1"), run(...says("m1", "Booked."), finished));
    mount(server);
    await userEvent.click(screen.getByRole("button", { name: "Send" }));
    await screen.findByText("Quarter executing");
    await waitFor(() => {
      expect(screen.getByTestId("status")).toHaveTextContent("idle");
    });
    expect(screen.getByText("Quarter executing")).toBeVisible();
    await userEvent.click(screen.getByRole("button", { name: "Monday" }));
    await said("Booked.");
  });

  it("[C7] goes on only once each of several calls has its result", async () => {
    const server = nothing().onRun(asks("c1", "c2"), run(...says("m1", "Both."), finished));
    mount(server);
    await userEvent.click(screen.getByRole("button", { name: "Send" }));
    const [first] = await screen.findAllByRole("button", { name: "Monday" });
    await userEvent.click(first!);
    expect(server.runs).toHaveLength(1);
    const [, second] = screen.getAllByRole("button", { name: "Decline" });
    await userEvent.click(second!);
    await said("Both.");
    expect(sent(server, 1)?.messages.filter((message) => message.role === "tool")).toHaveLength(2);
  });

  it("[A1] waits again after a reload", async () => {
    const call = {
      id: "c1",
      type: "function",
      function: { name: "schedule_meeting", arguments: "{}" },
    };
    const server = new ScriptedServer().onConnect(
      run(
        ...snapshot([
          { id: "u1", role: "user", content: "meet" },
          { id: "a1", role: "assistant", toolCalls: [call] },
        ]),
        finished,
      ),
    );
    server.onRun(run(...says("m1", "Booked."), finished));
    mount(server);
    await userEvent.click(await screen.findByRole("button", { name: "Monday" }));
    await said("Booked.");
  });

  it("[CL-07] waits again when its result did not arrive, and sends the same message id", async () => {
    const away = () => Promise.reject(new TypeError("Failed to fetch"));
    const server = nothing().onRun(asks("c1"), away, run(...says("m1", "Booked."), finished));
    mount(server);
    await userEvent.click(screen.getByRole("button", { name: "Send" }));
    await screen.findByRole("button", { name: "Monday" });
    // Whoever takes their time meets a look at the thread in between.
    server.onConnect(run(...snapshot(WAITING), finished));
    await userEvent.click(screen.getByRole("button", { name: "Monday" }));
    await waitFor(() => {
      expect(server.runs).toHaveLength(2);
      expect(screen.getByRole("button", { name: "Monday" })).toBeEnabled();
    });
    await userEvent.click(screen.getByRole("button", { name: "Monday" }));
    await said("Booked.");
    const ids = [1, 2].map((index) => sent(server, index)?.messages.at(-1)?.id);
    expect(ids[0]).toBe(ids[1]);
  });

  it("[OU-14] sends its result with the answers of the questions beside it", async () => {
    const server = nothing().onRun(
      run(
        ...calls("c1", "schedule_meeting", { reason: "Quarter" }),
        ...calls("call-a", "pay", {}),
        interrupted(approval("a")),
      ),
      run(...says("m1", "Both."), finished),
    );
    mount(
      server,
      <>
        <Chat />
        <Approvals />
      </>,
    );
    await userEvent.click(screen.getByRole("button", { name: "Send" }));
    await userEvent.click(await screen.findByRole("button", { name: "Monday" }));
    expect(server.runs).toHaveLength(1);
    await userEvent.click(screen.getByRole("button", { name: "Approve" }));
    await said("Both.");
    expect(sent(server, 1)?.resume).toHaveLength(1);
    expect(sent(server, 1)?.messages.some((message) => message.role === "tool")).toBe(true);
  });

  it("is over when the person writes something else, and no longer offered once it is gone", async () => {
    const server = nothing().onRun(asks("c1"), run(...says("m1", "As you like."), finished));
    const view = mount(server);
    await userEvent.click(screen.getByRole("button", { name: "Send" }));
    await screen.findByRole("button", { name: "Monday" });
    view.rerender(
      <StrictMode>
        <SaysoProvider agents={{ ops: server.agent() }}>
          <InterruptSlot />
        </SaysoProvider>
      </StrictMode>,
    );
    expect(screen.queryByRole("button", { name: "Monday" })).toBeNull();
  });
});

describe("a thread", () => {
  it("[CL-10] is restored, takes messages, and says how it stands, in strict mode", async () => {
    const server = new ScriptedServer().onConnect(
      run(...snapshot([{ id: "u1", role: "user", content: "before" }]), finished),
    );
    server.onRun(run(interrupted(approval("a"))));
    mount(server);
    await said("before");
    await userEvent.click(screen.getByRole("button", { name: "Send" }));
    await waitFor(() => {
      expect(screen.getByTestId("status")).toHaveTextContent("thread-1 awaiting 1");
    });
    expect(
      server.received.filter((received) => received.path.endsWith("/connect")),
    ).not.toHaveLength(0);
  });

  it("[CL-13] leaves nothing behind: its look is given up with the last component", async () => {
    const signals: (AbortSignal | undefined)[] = [];
    const server = new ScriptedServer().onConnect(({ signal }) => {
      signals.push(signal);
      return new Promise<Response>(() => undefined);
    });
    const view = mount(server);
    await act(async () => Promise.resolve());
    view.unmount();
    expect(signals.every((signal) => signal?.aborted === true)).toBe(true);
  });
});
