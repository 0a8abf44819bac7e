import type { AbstractAgent, Interrupt } from "@ag-ui/client";
import { act, render, screen, waitFor } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { StrictMode, useState, type ReactNode } from "react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import {
  InterruptSlot,
  SaysoProvider,
  useInterrupt,
  useInterrupts,
  type InterruptRenderProps,
  type UseInterruptConfig,
} from "../../src/index.js";
import { approval, finished, interrupted, run, refusal, ScriptedServer } from "../wire.js";

type Config = Partial<UseInterruptConfig<unknown, boolean>>;

function Card(config: Config) {
  const element = useInterrupt({
    render: ({
      interrupt,
      interrupts,
      event,
      result,
      resolve,
      cancel,
      status,
      errors,
      failure,
    }) => (
      <div role="group" aria-label={interrupt.id}>
        <p>{`${interrupts.length} open, ${status}, ${event.name} ${(event.value as Interrupt).id}`}</p>
        <p data-testid="result">{JSON.stringify(result)}</p>
        <p data-testid="errors">{JSON.stringify(errors)}</p>
        <p>{failure?.message}</p>
        {interrupts.map((item) => (
          <button
            key={item.id}
            onClick={() => {
              void resolve({ approved: true }, item.id);
            }}
          >
            Approve {item.id}
          </button>
        ))}
        <button
          onClick={() => {
            void resolve({ approved: true });
          }}
        >
          Approve first
        </button>
        <button
          onClick={() => {
            void cancel();
          }}
        >
          Cancel first
        </button>
      </div>
    ),
    renderInChat: false,
    ...config,
  });
  return element ?? null;
}

function mount(server: ScriptedServer, children: ReactNode) {
  const agent = server.agent();
  const view = render(
    <StrictMode>
      <SaysoProvider agents={{ ops: agent }}>{children}</SaysoProvider>
    </StrictMode>,
  );
  return { agent, view };
}

const start = (agent: AbstractAgent) =>
  act(async () => {
    await agent.runAgent();
  });

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});

describe("useInterrupt", () => {
  it("[C7] shows what is open and sends one run with all answers once each has one", async () => {
    const server = new ScriptedServer();
    const { agent } = mount(server, <Card />);
    expect(screen.queryByRole("group")).toBeNull();
    server.onRun(run(interrupted(approval("a"), approval("b"))), run(finished));
    await start(agent);
    expect(screen.getByText("2 open, awaiting, on_interrupt a")).toBeVisible();
    await userEvent.click(screen.getByRole("button", { name: "Approve a" }));
    expect(server.runs).toHaveLength(1);
    await userEvent.click(screen.getByRole("button", { name: "Approve b" }));
    await waitFor(() => {
      expect(screen.queryByRole("group")).toBeNull();
    });
    expect(server.runs[1]?.body.resume).toHaveLength(2);
  });

  it("[CK-02] means the first when no id is given, also on a double click", async () => {
    const server = new ScriptedServer();
    const { agent } = mount(server, <Card />);
    server.onRun(run(interrupted(approval("a"), approval("b"))));
    await start(agent);
    await userEvent.dblClick(screen.getByRole("button", { name: "Approve first" }));
    expect(server.runs).toHaveLength(1);
  });

  it("[CL-07] keeps the card when sending fails, and says why", async () => {
    const server = new ScriptedServer();
    const { agent } = mount(server, <Card />);
    const problems = [{ pointer: "/approved", message: "bad" }];
    server.onRun(
      run(interrupted(approval("a"))),
      run(refusal("invalid_payload", { interrupts: [{ interruptId: "a", problems }] })),
    );
    await start(agent);
    await userEvent.click(screen.getByRole("button", { name: "Approve first" }));
    expect(await screen.findByText("refused: invalid_payload")).toBeVisible();
    expect(screen.getByTestId("errors")).toHaveTextContent(JSON.stringify({ a: problems }));
  });

  it("[B6] calls the handler once per interrupt id, whatever re-renders, and passes on its result", async () => {
    const server = new ScriptedServer();
    const agent = server.agent();
    const handler = vi.fn(() => Promise.resolve({ rows: [1] }));
    function Host() {
      const [current, setCurrent] = useState<AbstractAgent>(agent);
      return (
        <SaysoProvider agents={{ ops: current }}>
          <Card handler={() => handler()} />
          <button
            onClick={() => {
              setCurrent(agent.clone());
            }}
          >
            Another object
          </button>
        </SaysoProvider>
      );
    }
    render(
      <StrictMode>
        <Host />
      </StrictMode>,
    );
    server.onRun(run(interrupted(approval("a"))));
    await start(agent);
    for (let turn = 0; turn < 3; turn += 1) {
      await userEvent.click(screen.getByRole("button", { name: "Another object" }));
    }
    expect(await screen.findByText(/on_interrupt a/)).toBeVisible();
    expect(screen.getByTestId("result")).toHaveTextContent('{"rows":[1]}');
    expect(handler).toHaveBeenCalledTimes(1);
  });

  it("has null for a result when the handler throws", async () => {
    const server = new ScriptedServer();
    const report = vi.fn();
    vi.stubGlobal("reportError", report);
    const { agent } = mount(
      server,
      <Card
        handler={() => {
          throw new Error("no");
        }}
      />,
    );
    server.onRun(run(interrupted(approval("a"))));
    await start(agent);
    expect(screen.getByTestId("result")).toHaveTextContent("null");
    expect(report).toHaveBeenCalledTimes(1);
    vi.unstubAllGlobals();
  });

  it("[CK-12] leaves alone what enabled does not want", async () => {
    const server = new ScriptedServer();
    const { agent } = mount(
      server,
      <Card enabled={({ value }) => (value as Interrupt).reason === "other"} />,
    );
    server.onRun(run(interrupted(approval("a"))));
    await start(agent);
    expect(screen.queryByRole("group")).toBeNull();
  });

  it("[A2] is mounted late or again and still shows what is open", async () => {
    const server = new ScriptedServer();
    const { agent, view } = mount(server, null);
    server.onRun(run(interrupted(approval("a"))));
    await start(agent);
    const again = (children: ReactNode) => {
      view.rerender(
        <StrictMode>
          <SaysoProvider agents={{ ops: agent }}>{children}</SaysoProvider>
        </StrictMode>,
      );
    };
    again(<Card />);
    expect(screen.getByRole("group", { name: "a" })).toBeVisible();
    again(null);
    again(<Card />);
    expect(screen.getByRole("group", { name: "a" })).toBeVisible();
  });

  it("renders into the chat unless told otherwise, and takes it away when it goes", async () => {
    const server = new ScriptedServer();
    function InChat() {
      useInterrupt({ render: ({ interrupt }) => <p>in chat: {interrupt.id}</p> });
      return null;
    }
    const { agent, view } = mount(
      server,
      <>
        <InChat />
        <main>
          <InterruptSlot />
        </main>
      </>,
    );
    server.onRun(run(interrupted(approval("a"))));
    await start(agent);
    expect(screen.getByRole("main")).toHaveTextContent("in chat: a");
    view.rerender(
      <StrictMode>
        <SaysoProvider agents={{ ops: agent }}>
          <main>
            <InterruptSlot />
          </main>
        </SaysoProvider>
      </StrictMode>,
    );
    expect(agent.subscribers).toHaveLength(0);
  });

  it("leaves no subscriber on the agent when it is unmounted", () => {
    const { agent, view } = mount(new ScriptedServer(), <Card />);
    expect(agent.subscribers).toHaveLength(1);
    view.unmount();
    expect(agent.subscribers).toHaveLength(0);
  });

  it("says what is wrong outside a provider and with an unknown agent", () => {
    expect(() => render(<Card />)).toThrow("<SaysoProvider>");
    expect(() => mount(new ScriptedServer(), <Card agentId="nobody" />)).toThrow(
      'No agent "nobody"',
    );
  });
});

it("useInterrupts gives the same without rendering", async () => {
  const server = new ScriptedServer();
  function Count() {
    const { interrupts, status } = useInterrupts();
    return <p>{`${status} ${interrupts.length}`}</p>;
  }
  const { agent } = mount(server, <Count />);
  expect(screen.getByText("idle 0")).toBeVisible();
  server.onRun(run(interrupted(approval("a"))));
  await start(agent);
  expect(screen.getByText("awaiting 1")).toBeVisible();
});

it("[F4] hands on what an older server sent, and answers it in its dialect", async () => {
  const server = new ScriptedServer();
  const value = { question: "Where to?" };
  function Older() {
    useInterrupt({
      render: ({ event, resolve }: InterruptRenderProps<null, { question: string }>) => (
        <button
          onClick={() => {
            void resolve("Paris");
          }}
        >
          {event.value.question}
        </button>
      ),
    });
    return <InterruptSlot />;
  }
  const { agent } = mount(server, <Older />);
  server.onRun(
    run({ type: "CUSTOM", name: "on_interrupt", value }, { type: "RUN_FINISHED" }),
    run(finished),
  );
  await start(agent);
  await userEvent.click(screen.getByRole("button", { name: "Where to?" }));
  await waitFor(() => {
    expect(server.runs[1]?.body.forwardedProps).toEqual({
      command: { resume: "Paris", interruptEvent: value },
    });
  });
  expect(screen.queryByRole("button")).toBeNull();
});
