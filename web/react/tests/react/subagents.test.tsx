import { act, render, screen } from "@testing-library/react";
import { StrictMode } from "react";
import { expect, it } from "vitest";
import { controllerOf, groupsOf } from "../../src/core/index.js";
import { SaysoProvider } from "../../src/react/index.js";
import { useSubagents } from "../../src/components/index.js";
import {
  approval,
  cancelled,
  deferred,
  finished,
  heldRun,
  interrupted,
  run,
  ScriptedServer,
  type WireEvent,
} from "../wire.js";

function Board() {
  return (
    <ul>
      {useSubagents().map(({ subagent, interrupts }) => (
        <li key={subagent?.id ?? ""}>
          {subagent === null ? "agent" : `${subagent.name ?? "?"} ${subagent.status}`}:
          {interrupts.map((interrupt) => interrupt.id).join("+")}
        </li>
      ))}
    </ul>
  );
}

const begins = (id: string, name: string): WireEvent => ({
  type: "SUBAGENT_STARTED",
  subagentRunId: id,
  name,
});
const ends = (id: string, outcome?: WireEvent): WireEvent => ({
  type: "SUBAGENT_FINISHED",
  subagentRunId: id,
  ...(outcome !== undefined && { outcome }),
});
const suspended: WireEvent = { type: "suspended" };

function open(server: ScriptedServer) {
  const agent = server.agent();
  render(
    <StrictMode>
      <SaysoProvider agents={{ ops: agent }}>
        <Board />
      </SaysoProvider>
    </StrictMode>,
  );
  const shown = () => screen.queryAllByRole("listitem").map((element) => element.textContent);
  return { controller: controllerOf(agent), shown };
}

const asked = run(
  begins("s1", "refunds"),
  begins("s2", "refunds"),
  ends("s2", suspended),
  ends("s1", suspended),
  interrupted(
    approval("a", { subagentRunId: "s1" }),
    approval("b"),
    approval("c", { subagentRunId: "s2" }),
    approval("d", { subagentRunId: "s1" }),
  ),
);

it("[CL-17] groups questions by the invocation that raised them, of one name or not", async () => {
  const { controller, shown } = open(new ScriptedServer().onRun(asked));
  await act(() => controller.runs.start("run"));
  expect(shown()).toEqual(["agent:b", "refunds waiting:a+d", "refunds waiting:c"]);
});

it("[CL-17] takes questions of a subagent that nobody announced", async () => {
  const question = approval("a", { subagentRunId: "s9" });
  const { controller, shown } = open(new ScriptedServer().onRun(run(interrupted(question))));
  await act(() => controller.runs.start("run"));
  expect(shown()).toEqual(["? waiting:a"]);
  expect(groupsOf([question], [])).toMatchObject([{ subagent: { id: "s9", name: null } }]);
});

it("[SA-07] moves a group that goes on from waiting to running, under the same id", async () => {
  const hold = deferred();
  const server = new ScriptedServer().onRun(asked);
  const { controller, shown } = open(server);
  await act(() => controller.runs.start("run"));
  server.onRun(heldRun([begins("s1", "refunds")], hold.promise, [ends("s1"), finished]));
  let sent: Promise<unknown> = Promise.resolve();
  await act(async () => {
    const { interrupts } = controller.getSnapshot();
    for (const { id } of interrupts) {
      controller.answer(id, { status: "resolved", payload: { approved: true } });
    }
    sent = controller.submit();
    await Promise.resolve();
  });
  expect(await screen.findByText(/refunds running:/)).toBeVisible();
  expect(shown().at(-2)).toMatch(/^refunds running:/);
  expect(shown().at(-1)).toMatch(/^refunds waiting:/);
  await act(async () => {
    hold.resolve();
    await sent;
  });
  expect(shown()).toEqual(["refunds finished:", "refunds waiting:"]);
});

it("[SA-07] tells those that failed or were stopped, and starts afresh with the next turn", async () => {
  const server = new ScriptedServer().onRun(
    run(
      begins("s1", "mails"),
      { type: "SUBAGENT_ERROR", subagentRunId: "s1", message: "no" },
      begins("s2", "refunds"),
      ends("s2", suspended),
      interrupted(approval("a", { subagentRunId: "s2" })),
    ),
    run(cancelled),
    run(finished),
  );
  const { controller, shown } = open(server);
  await act(() => controller.runs.start("run"));
  expect(shown()).toEqual(["mails failed:", "refunds waiting:a"]);
  await act(() => controller.cancelAll());
  expect(shown()).toEqual(["mails failed:", "refunds stopped:"]);
  await act(() => controller.runs.start("run"));
  expect(shown()).toEqual([]);
});
