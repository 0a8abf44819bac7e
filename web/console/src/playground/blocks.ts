import type { Batch, Message, Step } from "@sayso/react";
import { readSettled } from "@sayso/react/core";
import type { ToolCall } from "@ag-ui/client";

interface Common {
  readonly key: string;
  /** The subagent's invocation that said or did it; null for the agent and the user. */
  readonly by: string | null;
}

/** One thing in the transcript, from top to bottom. */
export type Block = Common &
  (
    | { readonly kind: "message"; readonly message: Message }
    | { readonly kind: "call"; readonly call: ToolCall; readonly result: Message | null }
    /** Output of a tool while it runs, or before it failed. */
    | { readonly kind: "output"; readonly tool: string; readonly text: string }
    /** The result of a call whose card stands above it. */
    | { readonly kind: "result"; readonly name: string; readonly message: Message }
    | { readonly kind: "step"; readonly step: Step }
    | { readonly kind: "questions"; readonly batch: Batch }
  );

/**
 * The transcript in order: messages, tool calls with their results, steps and questions where they
 * came up. A call that a question is about is shown by its card; only its result follows. A
 * settled question is told in a line, unless its card is still there and tells it.
 */
export function toBlocks(
  messages: readonly Message[],
  steps: readonly Step[],
  batches: readonly Batch[],
  gatedCalls: ReadonlySet<string>,
): readonly Block[] {
  const results = new Map<string, Message>();
  const names = new Map<string, string>();
  for (const message of messages) {
    if (message.role === "tool") results.set(message.toolCallId, message);
    if (message.role !== "assistant") continue;
    for (const call of message.toolCalls ?? []) names.set(call.id, call.function.name);
  }
  const stored = new Set(messages.map((message) => message.id));
  const cards = new Set(batches.flatMap((batch) => batch.ids));
  const placed = (anchor: string | null) => anchor !== null && stored.has(anchor);
  const position = (anchor: string | null): readonly Block[] => [
    ...steps.filter((step) => step.anchor === anchor).map(stepBlock),
    ...batches.filter((batch) => batch.anchor === anchor).map(batchBlock),
  ];
  const blocks: Block[] = [...position(null)];
  for (const message of messages) {
    const settled = readSettled(message);
    const hasCard = settled !== null && cards.has(settled.interruptId);
    const own = hasCard ? [] : messageBlocks(message, results, names, gatedCalls);
    blocks.push(...own, ...position(message.id));
  }
  // Blocks after a message that is gone keep their place at the end.
  blocks.push(
    ...steps.filter((step) => step.anchor !== null && !placed(step.anchor)).map(stepBlock),
    ...batches.filter((batch) => batch.anchor !== null && !placed(batch.anchor)).map(batchBlock),
  );
  return blocks;
}

function messageBlocks(
  message: Message,
  results: ReadonlyMap<string, Message>,
  names: ReadonlyMap<string, string>,
  gatedCalls: ReadonlySet<string>,
): readonly Block[] {
  const by = speakerOf(message);
  if (message.role === "tool") {
    const name = names.get(message.toolCallId);
    if (name !== undefined && !gatedCalls.has(message.toolCallId)) return [];
    return [{ kind: "result", key: message.id, by, name: name ?? "a tool", message }];
  }
  const output = outputOf(message);
  if (output !== null) {
    const { callId, tool, text } = output;
    const result = results.get(callId);
    // A tool that came to its end returns the same text once more.
    const item = result !== undefined && textOf(result) === text;
    return item ? [] : [{ kind: "output", key: message.id, by, tool, text }];
  }
  const blocks: Block[] = [];
  if (hasText(message)) blocks.push({ kind: "message", key: message.id, by, message });
  if (message.role === "assistant") {
    for (const call of message.toolCalls ?? []) {
      if (gatedCalls.has(call.id)) continue;
      const result = results.get(call.id) ?? null;
      blocks.push({ kind: "call", key: call.id, by, call, result });
    }
  }
  return blocks;
}

/** A streaming tool's output so far; null for any other message. */
function outputOf(message: Message) {
  if (message.role !== "activity" || message.activityType !== "sayso:tool-output") return null;
  const { toolCallId, tool, chunks } = message.content as Readonly<Record<string, unknown>>;
  if (typeof toolCallId !== "string" || typeof tool !== "string") return null;
  if (!Array.isArray(chunks)) return null;
  return { callId: toolCallId, tool, text: chunks.map(String).join("") };
}

function hasText(message: Message): boolean {
  if (message.role === "activity" || message.role === "reasoning") return true;
  return textOf(message) !== "";
}

/** A message's text; content parts that are not text are named in brackets. */
export function textOf(message: Message): string {
  const content: unknown = message.content;
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return (content as { type?: unknown; text?: unknown }[])
    .map((part) => (typeof part.text === "string" ? part.text : `[${String(part.type)}]`))
    .join("\n");
}

function stepBlock(step: Step): Block {
  return { kind: "step", key: `step:${step.key}`, by: null, step };
}

function batchBlock(batch: Batch): Block {
  return { kind: "questions", key: `questions:${batch.id}`, by: null, batch };
}

/** One speaker's blocks, up to the next speaker. */
export interface Spoken {
  readonly by: string | null;
  readonly key: string;
  readonly blocks: readonly Block[];
}

/** Blocks in their order, those of one speaker in a row together. */
export function bySpeaker(blocks: readonly Block[]): readonly Spoken[] {
  const spoken: { by: string | null; key: string; blocks: Block[] }[] = [];
  for (const block of blocks) {
    const last = spoken.at(-1);
    if (last?.by === block.by) last.blocks.push(block);
    else spoken.push({ by: block.by, key: `by:${block.key}`, blocks: [block] });
  }
  return spoken;
}

function speakerOf(message: Message): string | null {
  return "subagentRunId" in message ? (message.subagentRunId ?? null) : null;
}
