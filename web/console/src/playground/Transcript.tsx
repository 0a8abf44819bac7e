import { InterruptGroup, PlainText } from "@sayso/react/components";
import type {
  ConversationState,
  Failure,
  InterruptController,
  MachineState,
  Outgoing,
} from "@sayso/react";
import { failureText } from "@sayso/react/core";
import { useEffect, useMemo, useRef, type ReactElement } from "react";
import { isSignedOut } from "../ConnectionBar.js";
import { subagentLabelFor, type SubagentLabels } from "../subagents.js";
import { toBlocks, type Block } from "./blocks.js";
import { Blocks, SpeakerLine } from "./Speakers.js";
import { BlockView } from "./BlockView.js";

export interface TranscriptProps {
  readonly controller: InterruptController;
  readonly machine: MachineState;
  readonly conversation: ConversationState;
  readonly labels: SubagentLabels;
  /** The cards of this page's own tools that wait for the person, and the ids of their calls. */
  readonly tools: ReactElement | null;
  readonly calls: readonly string[];
  readonly onResend: () => void;
  readonly onTakeBack: () => void;
}

/** Everything that was said and done, with the open questions where they came up. */
export function Transcript(props: TranscriptProps) {
  const { controller, machine, conversation, labels, tools, calls } = props;
  const { onResend, onTakeBack } = props;
  const { messages, steps, unsent } = conversation;
  const { batches, interrupts, closed, status, failure } = machine;
  const gated = useMemo(() => {
    const all = [...interrupts, ...closed.map((item) => item.interrupt)];
    const list = all.flatMap((interrupt) => interrupt.toolCallId ?? []);
    return new Set([...list, ...calls]);
  }, [interrupts, closed, calls]);
  const blocks = useMemo(
    () => toBlocks(messages, steps, batches, gated),
    [messages, steps, batches, gated],
  );
  const begun = blocks.length > 0 || status !== "idle";
  const end = useFollow(begun, blocks, status, interrupts[0]?.id);
  const draw = (block: Block) =>
    block.kind === "questions" ? (
      <InterruptGroup
        controller={controller}
        batch={block.batch}
        messages={messages}
        above={({ interrupt: { subagentRunId: by = null } }) =>
          by === null ? null : <SpeakerLine label={subagentLabelFor(labels, by)} />
        }
      />
    ) : (
      <BlockView block={block} />
    );
  const { connection } = conversation;
  const lost = connection.status === "lost" || isSignedOut(connection);
  const runFailed = failure !== null && interrupts.length === 0 && unsent === null && !lost;
  return (
    <div className="transcript" role="log" aria-label="Conversation" aria-live="off">
      <Blocks blocks={blocks} labels={labels} draw={draw} />
      {tools}
      {unsent !== null && <Unsent message={unsent} onResend={onResend} onTakeBack={onTakeBack} />}
      {status === "running" && (
        <p className="working">
          <span aria-hidden="true" className="pulse" />
          Working
        </p>
      )}
      {runFailed && (
        <div className="run-failed" role="alert">
          <strong>{FAILED[failure.kind]}</strong>{" "}
          <span dir="auto">
            <PlainText text={failureText(failure)} />
          </span>
          {failure.code !== null && <code>{failure.code}</code>}
        </div>
      )}
      <div ref={end} />
    </div>
  );
}

/** The end of a run in words, before its reason. */
const FAILED: Readonly<Record<Failure["kind"], string>> = {
  agent: "The run failed.",
  refused: "The server refused.",
  http: "The server refused.",
  protocol: "The answer cannot be read.",
  network: "The connection was lost.",
  truncated: "The connection was lost.",
  silent: "The connection was lost.",
  timeout: "The server did not answer.",
};

function Unsent(props: {
  readonly message: Outgoing;
  readonly onResend: () => void;
  readonly onTakeBack: () => void;
}) {
  const { message, onResend, onTakeBack } = props;
  return (
    <article className="said said-user said-unsent">
      <p dir="auto">
        <PlainText text={message.text} />
      </p>
      <div role="alert">
        <strong>Not sent.</strong> {message.failure && failureText(message.failure)}
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
function useFollow(begun: boolean, blocks: unknown, status: unknown, question: string | undefined) {
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
    if (begun && near.current && question === undefined) {
      end.current?.scrollIntoView({ block: "end" });
    }
  }, [begun, blocks, status, question]);
  useEffect(() => {
    if (question === undefined) return;
    const open = end.current?.parentElement?.querySelector('[data-open="true"]');
    open?.scrollIntoView({ block: "nearest" });
    const card = open?.firstElementChild;
    card?.scrollIntoView({ block: "nearest" });
  }, [question]);
  return end;
}
