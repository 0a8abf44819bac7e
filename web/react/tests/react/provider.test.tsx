import { act, render, screen } from "@testing-library/react";
import { StrictMode } from "react";
import { expect, it, vi } from "vitest";
import {
  InterruptController,
  SaysoProvider,
  useInterrupts,
  type Interrupts,
  type LiveOptions,
} from "../../src/index.js";
import { approval, interrupted, run, ScriptedServer } from "../wire.js";

const objects = { validate: () => [{ pointer: "/approved", message: "say why" }] };

function open(options?: LiveOptions) {
  const agent = new ScriptedServer().onRun(run(interrupted(approval("a")))).agent();
  let last: Interrupts | undefined;
  function Probe() {
    last = useInterrupts();
    return <p>{JSON.stringify(last.errors)}</p>;
  }
  const page = (now?: LiveOptions) => (
    <StrictMode>
      <SaysoProvider agents={{ ops: agent }} {...(now !== undefined && { options: now })}>
        <Probe />
      </SaysoProvider>
    </StrictMode>
  );
  return { agent, page, last: () => last, show: () => render(page(options)) };
}

it("the provider's options apply to its agents, also when they change", async () => {
  const { agent, page, last, show } = open(objects);
  const view = show();
  await act(() => agent.runAgent());
  await act(async () => {
    await last()?.resolve({ approved: false });
  });
  expect(screen.getByText(/say why/)).toBeVisible();
  expect(last()?.answers).toEqual({});

  const write = vi.fn();
  view.rerender(page({ drafts: { read: () => ({}), write } }));
  await act(async () => {
    await last()?.resolve({ approved: false });
  });
  expect(screen.queryByText(/say why/)).toBeNull();
  expect(write).toHaveBeenCalled();
});

it("the defaults apply again once the provider's options are taken away", async () => {
  const { agent, page, last, show } = open(objects);
  const view = show();
  await act(() => agent.runAgent());
  view.rerender(page());
  await act(async () => {
    await last()?.resolve({ approved: false });
  });
  expect(screen.queryByText(/say why/)).toBeNull();
  expect(last()?.answers).not.toEqual({});
});

it("hooks use the controller that was made for their agent, with its options", async () => {
  const { agent, last, show } = open();
  const controller = new InterruptController(agent, objects);
  show();
  await act(() => agent.runAgent());
  await act(async () => {
    await last()?.resolve({ approved: false });
  });
  expect(screen.getByText(/say why/)).toBeVisible();
  expect(controller.getSnapshot().interrupts).toHaveLength(1);
});

it("useInterrupts returns what its type has", () => {
  const { last, show } = open();
  show();
  expect(Object.keys(last() ?? {}).sort()).toEqual([
    "answers",
    "cancel",
    "closed",
    "errors",
    "expired",
    "failure",
    "interrupts",
    "resolve",
    "status",
    "submit",
  ]);
});
