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
    const told = (...batches: Parameters<typeof toBlocks>[2]) =>
      toBlocks([...messages, settled], [], batches, new Set()).some((one) => one.key === "s1");
    expect(told()).toBe(true);
    expect(told({ id: "b", anchor: "z", ids: ["q"] })).toBe(false);
    expect(told({ id: "b", anchor: "z", ids: ["other"] })).toBe(true);
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
