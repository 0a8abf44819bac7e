import type { Message, Step } from "@sayso/react";
import { describe, expect, it } from "vitest";
import { textOf, toBlocks } from "../src/playground/blocks.js";

const call = (id: string, name: string) => ({
  id,
  type: "function" as const,
  function: { name, arguments: "{}" },
});
const messages: Message[] = [
  { id: "u", role: "user", content: "go" },
  {
    id: "a",
    role: "assistant",
    content: "sure",
    toolCalls: [call("c1", "look"), call("c2", "pay")],
  },
  { id: "t1", role: "tool", toolCallId: "c1", content: "seen" },
  { id: "t2", role: "tool", toolCallId: "c2", content: "paid" },
  { id: "z", role: "assistant", content: "done" },
];
const step: Step = { key: "s", name: "s", status: "done", anchor: "u" };
const keys = (...rest: Parameters<typeof toBlocks> extends [unknown, ...infer R] ? R : never) =>
  toBlocks(messages, ...rest).map((block) => `${block.kind} ${block.key}`);

describe("the transcript", () => {
  it("shows a free call with its result, and a gated one by its card and its result", () => {
    const batch = { id: "q", anchor: "t1", ids: ["q"] };
    expect(keys([step], [batch], new Set(["c2"]))).toEqual([
      "message u",
      "step step:s",
      "message a",
      "call c1",
      "questions questions:q",
      "result t2",
      "message z",
    ]);
  });

  it("shows what a tool says while it runs, and keeps it where the tool then fails", () => {
    const output: Message = {
      id: "o",
      role: "activity",
      activityType: "sayso:tool-output",
      content: { toolCallId: "c1", tool: "look", chunks: ["se", "en"] },
    };
    const details = (result: string | null) => {
      const [user, asks] = messages as [Message, Message];
      const end: Message[] =
        result === null ? [] : [{ id: "t1", role: "tool", toolCallId: "c1", content: result }];
      return toBlocks([user, asks, output, ...end], [], [], new Set()).find(
        (block) => block.key === "o",
      );
    };
    expect(details(null)).toMatchObject({ kind: "output", tool: "look", text: "seen" });
    expect(details("Error: broke")).toMatchObject({ kind: "output", text: "seen" });
    expect(details("seen")).toBeUndefined();
  });

  it("shows calls as calls when their questions are no longer known, as after a reload", () => {
    expect(keys([], [], new Set())).toEqual([
      "message u",
      "message a",
      "call c1",
      "call c2",
      "message z",
    ]);
  });

  it("tells a settled question in a line, unless its card is still there and tells it", () => {
    const settled: Message = {
      id: "s1",
      role: "activity",
      activityType: "sayso:settled",
      content: { interruptId: "q", reason: "confirmation", question: "Sure?", status: "resolved" },
    };
    const details = (...batches: Parameters<typeof toBlocks>[2]) =>
      toBlocks([...messages, settled], [], batches, new Set()).some(
        (toBlock) => toBlock.key === "s1",
      );
    expect(details()).toBe(true);
    expect(details({ id: "b", anchor: "z", ids: ["q"] })).toBe(false);
    expect(details({ id: "b", anchor: "z", ids: ["other"] })).toBe(true);
  });

  it("keeps what came at the beginning at the beginning, and what lost its place at the end", () => {
    const first = { id: "f", anchor: null, ids: ["f"] };
    const lost = { id: "l", anchor: "gone", ids: ["l"] };
    const order = keys([], [first, lost], new Set());
    expect(order[0]).toBe("questions questions:f");
    expect(order.at(-1)).toBe("questions questions:l");
  });

  it("names content that is not text", () => {
    const content = [
      { type: "text", text: "see" },
      { type: "image", source: { type: "url", value: "x" } },
    ];
    expect(textOf({ id: "u", role: "user", content } as Message)).toBe("see\n[image]");
  });
});
