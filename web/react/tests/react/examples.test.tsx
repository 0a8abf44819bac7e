import { act, render, screen, waitFor } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import type { AbstractAgent } from "@ag-ui/client";
import { afterEach, expect, it, vi } from "vitest";
import { InterruptSlot, SaysoProvider, useInterrupt } from "../../src/index.js";
import { approval, finished, interrupted, run, ScriptedServer } from "../wire.js";

/* eslint-disable @typescript-eslint/no-misused-promises, @typescript-eslint/no-unnecessary-condition,
   @typescript-eslint/no-unsafe-member-access -- the components below stand for code of others,
   which is not written to our rules. */

/* Components as they are written for CopilotKit's hook, in the manner of its documentation: one
   question to approve or cancel, several that are each addressed by their id, and the event alone.
   Only the name they import it from differs. There, `interrupt` may be missing and the value of the
   event is of any type. */

interface Asked {
  readonly message?: string;
  readonly amount?: number;
}

function ApproveOrCancel() {
  useInterrupt({
    render: ({ interrupt, resolve, cancel }) => (
      <section aria-label="Approval">
        <p>{interrupt?.message ?? "Go on?"}</p>
        <button onClick={() => resolve({ approved: true })}>Approve</button>
        <button onClick={() => cancel()}>Cancel</button>
      </section>
    ),
  });
  return null;
}

function OneByOne() {
  useInterrupt({
    render: ({ interrupts, resolve, cancel }) => (
      <ul>
        {interrupts.map((interrupt) => (
          <li key={interrupt.id}>
            {interrupt.message}
            <button onClick={() => resolve({ approved: true }, interrupt.id)}>
              Approve {interrupt.id}
            </button>
            <button onClick={() => cancel(interrupt.id)}>Cancel {interrupt.id}</button>
          </li>
        ))}
      </ul>
    ),
  });
  return null;
}

function ByEvent() {
  return useInterrupt({
    renderInChat: false,
    enabled: (event) => event.value.reason === "tool_call",
    handler: async ({ event }) => ({ seen: event.value.id as string }),
    render: ({ event, result, resolve }) => {
      const requested = (event.value ?? {}) as Asked;
      return (
        <button onClick={() => resolve({ approved: true })}>
          {`${requested.message ?? ""} ${result?.seen ?? ""}`}
        </button>
      );
    },
  });
}

const complained = vi.spyOn(console, "error");

afterEach(() => {
  expect(complained).not.toHaveBeenCalled();
});

async function ask(children: React.ReactNode, ...ids: string[]) {
  const server = new ScriptedServer().onRun(
    run(interrupted(...ids.map((id) => approval(id)))),
    run(finished),
  );
  const agent: AbstractAgent = server.agent();
  render(
    <SaysoProvider agents={{ default: agent }}>
      {children}
      <InterruptSlot />
    </SaysoProvider>,
  );
  await act(async () => {
    await agent.runAgent();
  });
  return server;
}

const resume = (server: ScriptedServer) => server.runs[1]?.body.resume;

it.each([
  ["Approve", [{ interruptId: "a", status: "resolved", payload: { approved: true } }]],
  ["Cancel", [{ interruptId: "a", status: "cancelled" }]],
])("[CK-02] approve and cancel: %s leaves as one entry", async (button, entries) => {
  const server = await ask(<ApproveOrCancel />, "a");
  expect(screen.getByText("May I run a?")).toBeVisible();
  await userEvent.click(screen.getByRole("button", { name: button }));
  await waitFor(() => {
    expect(screen.queryByRole("region")).toBeNull();
  });
  expect(resume(server)).toEqual(entries);
});

it("[C7, CK-02, CL-01] several: each is answered by its id, and one run carries all", async () => {
  const server = await ask(<OneByOne />, "a", "b", "c");
  await userEvent.click(screen.getByRole("button", { name: "Approve b" }));
  await userEvent.click(screen.getByRole("button", { name: "Cancel a" }));
  expect(server.runs).toHaveLength(1);
  await userEvent.click(screen.getByRole("button", { name: "Approve c" }));
  await waitFor(() => {
    expect(screen.queryByRole("listitem")).toBeNull();
  });
  expect(resume(server)).toEqual([
    { interruptId: "a", status: "cancelled" },
    { interruptId: "b", status: "resolved", payload: { approved: true } },
    { interruptId: "c", status: "resolved", payload: { approved: true } },
  ]);
});

it("by event: value, handler's result and a place of one's own", async () => {
  const server = await ask(<ByEvent />, "a");
  await userEvent.click(await screen.findByRole("button", { name: "May I run a? a" }));
  await waitFor(() => {
    expect(resume(server)).toHaveLength(1);
  });
});

it("takes the render of a page on a server, where nothing is open", async () => {
  const { renderToString } = await import("react-dom/server");
  const server = new ScriptedServer();
  const spy = vi.spyOn(server, "fetch");
  const html = renderToString(
    <SaysoProvider agents={{ default: server.agent() }}>
      <p>page</p>
      <ByEvent />
      <InterruptSlot />
    </SaysoProvider>,
  );
  expect(html).toBe("<p>page</p>");
  expect(spy).not.toHaveBeenCalled();
});
