import { describe, expect, it } from "vitest";
import { Conversation, InterruptController, type ConversationState } from "../../src/index.js";
import { Digits } from "../../src/core/digits.js";
import { writeJson } from "../../src/core/json.js";
import { patched } from "../../src/core/patch.js";
import { finished, run, ScriptedServer, type WireEvent } from "../wire.js";

const BIG = 9007199254740993n;
const ROUNDED = Number(BIG);

/** What is shown after a look at a thread with these frames, and the server that sent them. */
async function shown(...events: WireEvent[]) {
  const server = new ScriptedServer().onConnect(run(...events, finished));
  const agent = server.agent();
  const conversation = new Conversation(new InterruptController(agent), { frameMs: 0 });
  conversation.controller.subscribe(() => undefined);
  const close = conversation.open();
  await conversation.controller.connect();
  const state: ConversationState = conversation.getSnapshot();
  close();
  return { state, server, agent, conversation };
}

const snapshot = (state: unknown): WireEvent => ({ type: "STATE_SNAPSHOT", snapshot: state });
const delta = (...operations: unknown[]): WireEvent => ({ type: "STATE_DELTA", delta: operations });
const activity = (content: unknown): WireEvent => ({
  type: "ACTIVITY_SNAPSHOT",
  messageId: "m",
  activityType: "count",
  content,
});

describe("the digits of a thread's state", () => {
  it("are shown and go back as they came, where the client library knows doubles", async () => {
    const { state, agent, server } = await shown(
      snapshot({ id: BIG, list: [1, BIG], "a/b": -BIG }),
    );
    expect(state.agentState).toEqual({ id: BIG, list: [1, BIG], "a/b": -BIG });
    expect(agent.state).toEqual({ id: ROUNDED, list: [1, ROUNDED], "a/b": -ROUNDED });
    server.onRun(run(finished));
    await agent.runAgent();
    expect(server.runs.at(-1)?.body.state).toEqual({ id: BIG, list: [1, BIG], "a/b": -BIG });
  });

  it("follow its changes, whatever they move", async () => {
    const { state } = await shown(
      snapshot({ ids: [BIG], old: BIG + 2n }),
      delta(
        { op: "add", path: "/ids/0", value: BIG + 4n },
        { op: "move", from: "/old", path: "/new" },
      ),
      delta(
        { op: "copy", from: "/ids/1", path: "/ids/-" },
        { op: "replace", path: "/ids/1", value: 1 },
      ),
    );
    expect(state.agentState).toEqual({ ids: [BIG + 4n, 1, BIG], new: BIG + 2n });
  });

  it("are not put where somebody has changed the number since", async () => {
    const { agent, server } = await shown(snapshot({ id: BIG, n: BIG }));
    agent.state = { id: 7, n: ROUNDED };
    expect(agent.exactState).toEqual({ id: 7, n: BIG });
    server.onRun(run(finished));
    await agent.runAgent();
    expect(server.runs.at(-1)?.body.state).toEqual({ id: 7, n: BIG });
  });

  it("are those of its own thread", async () => {
    const { agent } = await shown(snapshot({ id: BIG }));
    agent.threadId = "thread-2";
    expect(agent.exactState).toEqual({ id: ROUNDED });
  });

  it("are in activities, too", async () => {
    const { state } = await shown(activity({ total: BIG }), {
      type: "ACTIVITY_DELTA",
      messageId: "m",
      activityType: "count",
      patch: [{ op: "add", path: "/last", value: BIG + 2n }],
    });
    expect(state.messages).toMatchObject([{ content: { total: BIG, last: BIG + 2n } }]);
  });

  it("are read out of bodies that come in any pieces", () => {
    const digits = new Digits();
    const hear = digits.body();
    const frames = [{ type: "RUN_STARTED", threadId: "t" }, snapshot({ é: BIG })];
    const bytes = new TextEncoder().encode(
      frames.map((frame) => `data: ${writeJson(frame)}\n\n`).join(""),
    );
    for (const byte of bytes) hear(Uint8Array.of(byte));
    expect(digits.state("t", { é: ROUNDED })).toEqual({ é: BIG });
  });

  it("are unknown after a change that does not fit, and until the next snapshot", () => {
    const digits = new Digits();
    const hear = digits.body();
    const tell = (...frames: unknown[]) => {
      const text = frames.map((frame) => `data: ${writeJson(frame)}\n\n`).join("");
      hear(new TextEncoder().encode(text));
    };
    tell({ type: "RUN_STARTED", threadId: "t" }, snapshot({ id: BIG }));
    tell(delta({ op: "remove", path: "/none" }));
    expect(digits.state("t", { id: ROUNDED })).toEqual({ id: ROUNDED });
    tell(snapshot({ id: BIG }));
    expect(digits.state("t", { id: ROUNDED })).toEqual({ id: BIG });
  });
});

describe("a patch", () => {
  const start = () => ({ a: [1, { b: null }], "x/y": { "~": "t" }, __proto: 1 });
  const rest = { "x/y": { "~": "t" }, __proto: 1 };
  const b = { b: null };
  it.each([
    [[{ op: "add", path: "/a/-", value: 2 }], { a: [1, b, 2], ...rest }],
    [[{ op: "add", path: "/a/1", value: [] }], { a: [1, [], b], ...rest }],
    [[{ op: "replace", path: "/x~1y/~0", value: 3 }], { ...start(), "x/y": { "~": 3 } }],
    [[{ op: "remove", path: "/a/0" }], { a: [b], ...rest }],
    [[{ op: "move", from: "/a/1/b", path: "/c" }], { a: [1, {}], ...rest, c: null }],
    [
      [
        { op: "copy", from: "/a", path: "/d" },
        { op: "add", path: "/d/0", value: 9 },
      ],
      { ...start(), d: [9, 1, b] },
    ],
    [
      [
        { op: "test", path: "/a/0", value: 1 },
        { op: "replace", path: "", value: { all: "new" } },
      ],
      { all: "new" },
    ],
  ])("%j", (patch, requested) => {
    expect(patched(start(), patch)).toEqual(requested);
  });

  it.each([
    [[{ op: "remove", path: "/none" }]],
    [[{ op: "add", path: "/a/9", value: 1 }]],
    [[{ op: "replace", path: "/none", value: 1 }]],
    [[{ op: "test", path: "/a/0", value: 2 }]],
    [[{ op: "add", path: "a", value: 1 }]],
    [[{ op: "jump", path: "/a" }]],
    [{}],
  ])("that does not fit is refused: %j", (patch) => {
    expect(() => patched(start(), patch)).toThrow();
  });
});
