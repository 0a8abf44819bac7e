import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Inbox, InterruptController, inboxView } from "../../src/core/index.js";
import {
  approval,
  finished,
  interrupted,
  refusal,
  run,
  ScriptedServer,
  snapshot,
} from "../wire.js";
import { InboxServer, listed, problem } from "./inboxServer.js";

const yes = { status: "resolved", payload: { approved: true } } as const;
const changes = [{ path: "/amount", from: 500, to: 5 }];
const sayso = (digest: string, more = {}) => ({ metadata: { sayso: { digest, ...more } } });
const edited = { waitsFor: { roles: ["lead"], agreed: [{ by: "lea", changes }] } };
const shown = (digest: string) => ({ ...yes, metadata: { sayso: { shown: digest } } });
const flush = () => vi.advanceTimersByTimeAsync(1);

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A thread with two questions, of which the first is put as `one` when it is looked at. */
async function opened(one: ReturnType<typeof approval>) {
  const other = approval("b", sayso("b1"));
  const server = new ScriptedServer()
    .onRun(run(...snapshot(), interrupted(approval("a", sayso("a1")), other)))
    .onConnect(run(...snapshot(), interrupted(one, other)));
  const controller = new InterruptController(server.agent());
  controller.subscribe(() => undefined);
  await controller.runs.start("run");
  return { server, controller, other };
}

const resumes = (server: ScriptedServer) => server.runs.map(({ body }) => body.resume ?? []);

it("tells with each answer what its question was like when it was given", async () => {
  const { server, controller } = await opened(approval("a", sayso("a2", edited)));
  server.onRun(run(finished));
  controller.answer("a", yes);
  await controller.connect();
  controller.answer("b", { status: "cancelled" });
  await controller.submit();
  expect(resumes(server)[1]).toEqual([
    { interruptId: "a", ...shown("a1") },
    { interruptId: "b", status: "cancelled", metadata: { sayso: { shown: "b1" } } },
  ]);
});

it.each(["an error", "a question that is asked again"])(
  "keeps answers that are refused with %s, and sends them about what is shown now",
  async (how) => {
    const now = approval("a", sayso("a2", edited));
    const { server, controller, other } = await opened(now);
    const details = { code: "out_of_date", interrupts: [{ interruptId: "a", interrupt: now }] };
    const problem = { ...details, message: "changed" };
    const again = { ...interrupted(now, other), metadata: { sayso: { refused: true, problem } } };
    const refused = how === "an error" ? refusal("out_of_date", details) : again;
    server.onRun(run(...snapshot(), refused), run(finished));
    controller.answer("a", yes);
    controller.answer("b", yes);
    await controller.submit();
    await flush();
    const state = controller.getSnapshot();
    expect(state).toMatchObject({ status: "failed", answers: { a: yes, b: yes }, asked: { a: 1 } });
    expect(state.failure?.code).toBe("out_of_date");
    await controller.submit();
    const ids = (digest: string) => [
      { interruptId: "a", ...shown(digest) },
      { interruptId: "b", ...shown("b1") },
    ];
    expect(resumes(server).slice(1)).toEqual([ids("a1"), ids("a2")]);
  },
);

it("an inbox keeps such an answer too, shows what changed, and sends it about that", async () => {
  const server = new InboxServer();
  server.items = [listed("a", sayso("a1"))];
  const inbox = new Inbox({ url: "http://sayso.test", fetch: server.fetch });
  const close = inbox.open();
  await flush();
  inbox.keep("a", yes);
  server.items = [listed("a", sayso("a2", edited))];
  server.tell({ type: "agreed", interrupt: server.items[0] });
  await flush();
  server.replies.push(
    () => problem(409, "out_of_date", { interrupts: [{ interruptId: "a" }] }),
    () => Response.json({ runId: "r" }),
  );
  await inbox.send(["a"]);
  await flush();
  const view = inboxView(inbox.getSnapshot(), "a", Date.now());
  expect(view).toMatchObject({ answer: yes, interrupt: sayso("a2", edited) });
  expect(inbox.getSnapshot().failures.a?.code).toBe("out_of_date");
  await inbox.send(["a"]);
  expect(server.posted.map(({ body }) => body)).toEqual([shown("a1"), shown("a2")]);
  close();
});
