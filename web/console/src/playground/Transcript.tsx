import { ArgumentTable, InterruptGroup } from "@sayso/react/components";
import {
  parseJson,
  readCall,
  type ConversationState,
  type InterruptController,
  type MachineState,
  type Message,
  type Outgoing,
  type Step,
} from "@sayso/react";
import { memo, useEffect, useMemo, useRef } from "react";
import { textOf, toBlocks, type Block } from "./blocks.js";

export interface TranscriptProps {
  readonly controller: InterruptController;
  readonly machine: MachineState;
  readonly conversation: ConversationState;
  readonly onResend: () => void;
  readonly onTakeBack: () => void;
}

/** Everything that was said and done, with the open questions where they came up. */
export function Transcript(props: TranscriptProps) {
  const { controller, machine, conversation, onResend, onTakeBack } = props;
  const { messages, steps, unsent } = conversation;
  const { batches, interrupts, closed, status, failure } = machine;
  const gated = useMemo(() => {
    const all = [...interrupts, ...closed.map((one) => one.interrupt)];
    return new Set(all.flatMap((one) => (one.toolCallId === undefined ? [] : [one.toolCallId])));
  }, [interrupts, closed]);
  const blocks = useMemo(
    () => toBlocks(messages, steps, batches, gated),
    [messages, steps, batches, gated],
  );
  const end = useFollow(blocks, status, interrupts[0]?.id);
  const lost = conversation.connection.status === "lost";
  const runFailed = failure !== null && interrupts.length === 0 && unsent === null && !lost;
  return (
    <div className="transcript" role="log" aria-label="Conversation" aria-live="off">
      {blocks.map((block) =>
        block.kind === "questions" ? (
          <InterruptGroup
            key={block.key}
            controller={controller}
            batch={block.batch}
            messages={messages}
          />
        ) : (
          <BlockView key={block.key} block={block} />
        ),
      )}
      {unsent !== null && <Unsent message={unsent} onResend={onResend} onTakeBack={onTakeBack} />}
      {status === "running" && (
        <p className="working">
          <span aria-hidden="true" className="pulse" />
          Working
        </p>
      )}
      {runFailed && (
        <div className="run-failed" role="alert">
          <strong>The run failed.</strong> {failure.message}
          {failure.code !== null && <code>{failure.code}</code>}
        </div>
      )}
      <div ref={end} />
    </div>
  );
}

const BlockView = memo(function BlockView({ block }: { readonly block: Block }) {
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
    case "step":
      return <StepView step={block.step} />;
    case "questions":
      return null;
    default:
      return block satisfies never;
  }
}, sameBlock);

function MessageView({ message }: { readonly message: Message }) {
  if (message.role === "activity") {
    return (
      <details className="aside-block">
        <summary>{message.activityType}</summary>
        <ArgumentTable value={message.content} label="Activity" />
      </details>
    );
  }
  if (message.role === "reasoning") {
    return (
      <details className="aside-block">
        <summary>Reasoning</summary>
        <p dir="auto">{textOf(message)}</p>
      </details>
    );
  }
  const user = message.role === "user";
  return (
    <article className={user ? "said said-user" : "said"}>
      <span className="sayso-sr">{user ? "You: " : "Agent: "}</span>
      <p dir="auto">{textOf(message)}</p>
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
        <code>{call.name}</code>
        <span className="call-state" dir="auto">
          {end}
        </span>
      </summary>
      {call.args === undefined ? (
        <pre className="sayso-json">{call.text}</pre>
      ) : (
        <ArgumentTable value={call.args} label={`Arguments of ${call.name}`} />
      )}
      {result !== null && textOf(result) !== end && <Result message={result} />}
    </details>
  );
}

/** How a call ended, in one line: only its result says whether it ran, was denied or failed. */
function endOf(result: Message | null): string {
  if (result === null) return "called";
  const text = textOf(result);
  const value = parseJson(text);
  if (typeof value === "object" && value !== null) return "returned";
  const letters = Array.from(text);
  if (letters.length === 0) return "empty result";
  return letters.length <= LINE ? text : `${letters.slice(0, LINE).join("")}…`;
}

function Result({ message }: { readonly message: Message }) {
  const text = textOf(message);
  const value = parseJson(text);
  if (typeof value === "object" && value !== null) {
    return <ArgumentTable value={value} label="Result" />;
  }
  return (
    <p className="result-text" dir="auto">
      {text === "" ? <span className="sayso-quiet">empty result</span> : text}
    </p>
  );
}

/** Characters of a result beside the name of its call; a longer one stands below as a whole. */
const LINE = 100;

const STEP_WORDS: Readonly<Record<Step["status"], string>> = {
  open: "in progress",
  paused: "waiting",
  done: "done",
};

function StepView({ step }: { readonly step: Step }) {
  return (
    <p className="step" data-status={step.status}>
      <span className="step-name">{step.name}</span>
      <span>{STEP_WORDS[step.status]}</span>
    </p>
  );
}

function Unsent(props: {
  readonly message: Outgoing;
  readonly onResend: () => void;
  readonly onTakeBack: () => void;
}) {
  const { message, onResend, onTakeBack } = props;
  return (
    <article className="said said-user said-unsent">
      <p dir="auto">{message.text}</p>
      <div role="alert">
        <strong>Not sent.</strong> {message.failure?.message}
      </div>
      <div className="sayso-actions">
        <button type="button" className="sayso-button sayso-small" onClick={onResend}>
          Send again
        </button>
        <button type="button" className="sayso-button sayso-small sayso-plain" onClick={onTakeBack}>
          Take back
        </button>
      </div>
    </article>
  );
}

/**
 * Keeps the end in view while things are added, unless the reader has scrolled away from it. When
 * questions open, the first of them comes into view instead.
 */
function useFollow(blocks: unknown, status: unknown, question: string | undefined) {
  const end = useRef<HTMLDivElement>(null);
  const near = useRef(true);
  useEffect(() => {
    const scroller = end.current?.closest(".scroll");
    if (!(scroller instanceof HTMLElement)) return undefined;
    const watch = () => {
      near.current = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 120;
    };
    scroller.addEventListener("scroll", watch, { passive: true });
    return () => {
      scroller.removeEventListener("scroll", watch);
    };
  }, []);
  useEffect(() => {
    if (near.current && question === undefined) end.current?.scrollIntoView({ block: "end" });
  }, [blocks, status, question]);
  useEffect(() => {
    if (question === undefined) return;
    const open = end.current?.parentElement?.querySelector('[data-open="true"]');
    open?.scrollIntoView({ block: "nearest" });
    const card = open?.firstElementChild;
    card?.scrollIntoView({ block: "nearest" });
  }, [question]);
  return end;
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
