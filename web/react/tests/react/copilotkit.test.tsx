// What CopilotKit's users have written for its hook, with nothing but the import changed: one
// question to approve or cancel, and several that are each addressed by their id.
import { act, render, screen, waitFor } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import type { ReactNode } from "react";
import { afterEach, expect, it, vi } from "vitest";
import { InterruptSlot, SaysoProvider, useInterrupt } from "../../src/index.js";
import { approval, finished, interrupted, run, ScriptedServer } from "../wire.js";

/* eslint-disable @typescript-eslint/no-unnecessary-condition, @typescript-eslint/no-misused-promises --
   as it is written for the other hook, whose interrupt may be null */
function OneApproval() {
  useInterrupt({
    render: ({ interrupt, resolve, cancel }) => (
      <div>
        <p>{interrupt?.message ?? "Shall this be done?"}</p>
        <button onClick={() => resolve({ approved: true })}>Approve</button>
        <button onClick={() => cancel()}>Cancel</button>
      </div>
    ),
  });
  return null;
}

function SeveralApprovals() {
  useInterrupt({
    render: ({ interrupts, resolve, cancel }) => (
      <ul>
        {interrupts.map((one) => (
          <li key={one.id}>
            {one.message}
            <button onClick={() => resolve({ ok: true }, one.id)}>Approve {one.id}</button>
            <button onClick={() => cancel(one.id)}>Cancel {one.id}</button>
          </li>
        ))}
      </ul>
    ),
  });
  return null;
}
/* eslint-enable */

const complained = vi.spyOn(console, "error");

afterEach(() => {
  expect(complained).not.toHaveBeenCalled();
});

async function asked(hook: ReactNode, ...questions: Parameters<typeof interrupted>) {
  const server = new ScriptedServer();
  const agent = server.agent();
  render(
    <SaysoProvider agents={{ ops: agent }}>
      {hook}
      <InterruptSlot />
    </SaysoProvider>,
  );
  server.onRun(run(interrupted(...questions)), run(finished));
  await act(async () => {
    await agent.runAgent();
  });
  return server;
}

const press = (name: string) => userEvent.click(screen.getByRole("button", { name }));

it.each([
  ["Approve", { status: "resolved", payload: { approved: true } }],
  ["Cancel", { status: "cancelled" }],
])("[CK-02] one question: %s sends it and is gone", async (button, entry) => {
  const server = await asked(<OneApproval />, approval("a"));
  await press(button);
  await waitFor(() => {
    expect(screen.queryByRole("button")).toBeNull();
  });
  expect(server.runs[1]?.body.resume).toEqual([{ interruptId: "a", ...entry }]);
});

it("[CK-02, CL-01] several questions: one run with all answers, once each has one", async () => {
  const server = await asked(<SeveralApprovals />, approval("a"), approval("b"));
  await press("Approve a");
  expect(server.runs).toHaveLength(1);
  await press("Cancel b");
  await waitFor(() => {
    expect(screen.queryByRole("listitem")).toBeNull();
  });
  expect(server.runs[1]?.body.resume).toEqual([
    { interruptId: "a", status: "resolved", payload: { ok: true } },
    { interruptId: "b", status: "cancelled" },
  ]);
});
