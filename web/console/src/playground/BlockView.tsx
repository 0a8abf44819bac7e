import { ArgumentTable, PlainText, SettledLine } from "@sayso/react/components";
import { parseJson, readCall, readSettled } from "@sayso/react/core";
import type { Message, Step } from "@sayso/react";
import { memo } from "react";
import { textOf, type Block } from "./blocks.js";
import { LongText } from "./LongText.js";

/** One thing in a transcript that is not a question. */
export const BlockView = memo(function BlockView({ block }: { readonly block: Block }) {
  switch (block.kind) {
    case "message":
      return <MessageView message={block.message} />;
    case "call":
      return <CallView block={block} />;
    case "result":
      return (
        <div className="result">
          <span className="result-name">
            <code>{block.name}</code>
          </span>
          <Result message={block.message} />
        </div>
      );
    case "output":
      return (
        <div className="result output">
          <span className="result-name">
            <code>
              <PlainText text={block.tool} />
            </code>
          </span>
          <LongText text={block.text} />
        </div>
      );
    case "step":
      return <StepView step={block.step} />;
    case "questions":
      return null;
    default:
      return block satisfies never;
  }
}, sameBlock);

function MessageView({ message }: { readonly message: Message }) {
  const settled = readSettled(message);
  if (settled !== null) return <SettledLine settled={settled} />;
  if (message.role === "activity") {
    return (
      <details className="aside-block">
        <summary>
          <PlainText text={message.activityType} />
        </summary>
        <ArgumentTable value={message.content} label="Activity" />
      </details>
    );
  }
  if (message.role === "reasoning") {
    return (
      <details className="aside-block">
        <summary>Reasoning</summary>
        <LongText text={textOf(message)} />
      </details>
    );
  }
  const user = message.role === "user";
  return (
    <article className={user ? "said said-user" : "said"}>
      <span className="sayso-sr">{user ? "You: " : "Agent: "}</span>
      <LongText text={textOf(message)} />
    </article>
  );
}

function CallView({ block }: { readonly block: Extract<Block, { kind: "call" }> }) {
  const call = readCall(block.call);
  const { result } = block;
  const end = endOf(result);
  return (
    <details className="call">
      <summary>
        <code>
          <PlainText text={call.name} />
        </code>
        <span className="call-state" dir="auto">
          <PlainText text={end} />
        </span>
      </summary>
      {call.args === undefined ? (
        <pre className="sayso-json">
          <PlainText text={call.text} />
        </pre>
      ) : (
        <ArgumentTable value={call.args} label={`Arguments of ${call.name}`} />
      )}
      {result !== null && textOf(result) !== end && <Result message={result} />}
    </details>
  );
}

/** How a call ended, in one line: only its result says whether it ran, was denied or failed. */
function endOf(result: Message | null): string {
  if (result === null) return "no result yet";
  const text = textOf(result);
  const value = parseJson(text);
  if (typeof value === "object" && value !== null) return "returned";
  const letters = Array.from(text);
  if (letters.length === 0) return "empty result";
  return letters.length <= MAX_LINE_CHARACTERS
    ? text
    : `${letters.slice(0, MAX_LINE_CHARACTERS).join("")}…`;
}

function Result({ message }: { readonly message: Message }) {
  const text = textOf(message);
  const value = parseJson(text);
  if (typeof value === "object" && value !== null) {
    return <ArgumentTable value={value} label="Result" />;
  }
  return (
    <p className="result-text" dir="auto">
      {text === "" ? <span className="sayso-quiet">empty result</span> : <PlainText text={text} />}
    </p>
  );
}

/** Characters of a result beside the name of its call; a longer one stands below as a whole. */
const MAX_LINE_CHARACTERS = 100;

const STEP_WORDS: Readonly<Record<Step["status"], string>> = {
  open: "in progress",
  paused: "waiting",
  done: "done",
};

function StepView({ step }: { readonly step: Step }) {
  return (
    <p className="step" data-status={step.status}>
      <span className="step-name">
        <PlainText text={step.name} />
      </span>
      <span>{STEP_WORDS[step.status]}</span>
    </p>
  );
}

/** Blocks are made anew each time; what they are about keeps its identity while it is the same. */
function sameBlock(before: { readonly block: Block }, after: { readonly block: Block }): boolean {
  const [a, b] = [before.block, after.block];
  if (a.kind !== b.kind || a.key !== b.key) return false;
  switch (a.kind) {
    case "message":
      return b.kind === "message" && a.message === b.message;
    case "result":
      return b.kind === "result" && a.message === b.message && a.name === b.name;
    case "output":
      return b.kind === "output" && a.text === b.text && a.tool === b.tool;
    case "call":
      return (
        b.kind === "call" &&
        a.result === b.result &&
        a.call.function.arguments === b.call.function.arguments
      );
    case "step":
      return b.kind === "step" && a.step === b.step;
    case "questions":
      return false;
    default:
      return a satisfies never;
  }
}
