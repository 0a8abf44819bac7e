import { describe, expect, it, vi } from "vitest";
import { InterruptController } from "../../src/core/index.js";
import {
  approval,
  finished,
  interrupted,
  run,
  refusal,
  says,
  ScriptedServer,
  snapshot,
} from "../wire.js";

const user = (id: string, content = id) => ({ id, role: "user" as const, content });
const long = { id: "m1", role: "assistant" as const, content: "x".repeat(100_000) };
const asks = run(...says("m1", "x"), ...snapshot([user("u1"), long]), interrupted(approval("a")));
const ids = (server: ScriptedServer) =>
  server.runs.map(({ body }) => body.messages.map((message) => message.id));

async function asked(server: ScriptedServer) {
  const agent = server.agent();
  const controller = new InterruptController(agent);
  controller.subscribe(() => undefined);
  agent.messages = [user("u1")];
  await controller.runs.start("run");
  return { agent, controller };
}

describe("what is sent of a thread", () => {
  it("is what its last snapshot lacked: an answer carries no history", async () => {
    const server = new ScriptedServer().onRun(asks, run(...says("m2", "done"), finished));
    const { controller } = await asked(server);
    await controller.resolve({ approved: true });
    expect(ids(server)).toEqual([["u1"], []]);
  });

  it("is a new message alone, beside an answer and after a look", async () => {
    const server = new ScriptedServer()
      .onRun(asks, run(...snapshot([user("u1"), long, user("u2")]), finished), run(finished))
      .onConnect(run(...snapshot([user("u1"), long, user("u2")]), finished));
    const { agent, controller } = await asked(server);
    agent.addMessage(user("u2"));
    await controller.cancelAll();
    await controller.connect();
    agent.addMessage(user("u3"));
    await controller.runs.start("run");
    expect(ids(server)).toEqual([["u1"], ["u2"], ["u3"]]);
  });

  it("is all of it once something was said after the snapshot", async () => {
    const server = new ScriptedServer()
      .onRun(asks, run(...snapshot([user("u1"), long]), ...says("m2", "done"), finished))
      .onRun(run(finished));
    const { agent, controller } = await asked(server);
    await controller.resolve({ approved: true });
    agent.addMessage(user("u2"));
    await controller.runs.start("run");
    expect(ids(server).at(-1)).toEqual(["u1", "m1", "m2", "u2"]);
  });

  it.each([
    ["cut", [user("u1")]],
    ["edited", [user("u1", "other words"), long]],
  ])("is all of it where the history was %s here", async (_, messages) => {
    const server = new ScriptedServer().onRun(asks, run(finished));
    const { agent, controller } = await asked(server);
    agent.messages = messages;
    await controller.runs.start("run");
    expect(ids(server).at(-1)).toEqual(messages.map((message) => message.id));
  });

  it("is the same again after a refusal, which has stored nothing", async () => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    const server = new ScriptedServer().onRun(
      asks,
      run(refusal("interrupts_pending")),
      run(
        ...snapshot([
          user("u1"),
          long,
          user("u2"),
          { ...user("p"), metadata: { sayso: { type: "problem", refused: true } } },
        ]),
        { ...interrupted(approval("a")), metadata: { sayso: { refused: true } } },
      ),
      run(finished),
    );
    const { agent, controller } = await asked(server);
    agent.addMessage(user("u2"));
    for (let time = 0; time < 3; time += 1) await controller.runs.start("run");
    expect(ids(server).slice(1)).toEqual([["u2"], ["u2"], ["u2", "p"]]);
  });
});
