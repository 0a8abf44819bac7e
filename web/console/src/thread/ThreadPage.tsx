import { plainText } from "@sayso/react/components";
import { personName } from "@sayso/react/core";
import { useEffect, useMemo, useRef } from "react";
import { Link, useLocation, useNavigate } from "react-router";
import { ConnectionBar } from "../ConnectionBar.js";
import { Layout } from "../Layout.js";
import { useSharedInbox } from "../inbox/InboxProvider.js";
import { Notice } from "../Notice.js";
import { toBlocks, type Block } from "../playground/blocks.js";
import { BlockView } from "../playground/BlockView.js";
import { Blocks } from "../playground/Speakers.js";
import { isDenied, ServerError } from "../rest.js";
import { SignIn } from "../SignIn.js";
import { StopButton } from "../StopButton.js";
import { useTitle } from "../title.js";
import { AuditSection } from "../audit/AuditSection.js";
import { Inspector } from "./Inspector.js";
import { ARRIVED, playPath, threadPath, usePathParts } from "./path.js";
import type { Hold, ThreadRecord } from "./records.js";
import { isMismatched, Restart } from "./Restart.js";
import { threadSubagentLabels } from "./subagents.js";
import { Timeline } from "./Timeline.js";
import { statusOf } from "./labels.js";
import { Time } from "./Time.js";
import { useThread } from "./useThread.js";

/** One thread: what happened in it and who decided what, where it stands, and the way to stop it. */
export function ThreadPage() {
  const [agentId = "", threadId = ""] = usePathParts();
  const navigate = useNavigate();
  const { state } = useSharedInbox();
  const moment = state.items
    .filter((item) => item.threadId === threadId)
    .map((item) => `${item.interrupt.id}${item.held === null ? "" : "+"}`)
    .join();
  const openId = state.items.find((item) => item.threadId === threadId)?.interrupt.id ?? null;
  const { thread: read, error, retryAt, again } = useThread(threadId, moment);
  const thread = read?.row.threadId === threadId ? read : null;
  useTitle(thread?.row.open ?? 0, `${agentId} ${threadId}`);
  if (thread === null) {
    if (isDenied(error)) return <SignIn said={error.message} />;
    const back = () => {
      void navigate("/thread");
    };
    return (
      <Layout tools={null}>
        {error === null ? (
          <Notice title="Loading the conversation…" />
        ) : retryAt !== null ? (
          <Notice title="No connection" action={{ label: "Try now", onClick: again }}>
            {error.message} Trying again every 2 seconds.
          </Notice>
        ) : (
          <Notice
            title={
              isUnknown(error) ? "Conversation not found" : "This conversation cannot be shown"
            }
            action={{ label: "All conversations", onClick: back }}
          >
            {isUnknown(error) ? <Unknown interruptId={openId} /> : error.message}
          </Notice>
        )}
      </Layout>
    );
  }
  return (
    <Thread
      key={threadId}
      thread={thread}
      agentId={agentId}
      threadId={threadId}
      retryAt={retryAt}
      onAgain={again}
    />
  );
}

function Thread(props: {
  readonly thread: ThreadRecord;
  readonly agentId: string;
  readonly threadId: string;
  readonly retryAt: number | null;
  readonly onAgain: () => void;
}) {
  const { thread, agentId, threadId, retryAt, onAgain } = props;
  const { row, messages } = thread;
  const blocks = useMemo(() => toBlocks(messages, [], [], new Set()), [messages]);
  const labels = useMemo(() => threadSubagentLabels(thread), [thread]);
  const { words, tone, busy } = statusOf(row);
  const main = useRef<HTMLElement>(null);
  const { state } = useLocation() as { readonly state: unknown };
  useEffect(() => {
    if (state === ARRIVED) main.current?.focus({ preventScroll: true });
  }, [state]);
  const play = playPath(agentId, threadId);
  return (
    <Layout
      tools={
        <>
          <span className="thread-status" data-status={tone} role="status">
            {words}
          </span>
          {busy && <StopButton threadId={threadId} open={row.open} onStopped={onAgain} />}
        </>
      }
    >
      <main ref={main} className="thread" id="main" tabIndex={-1}>
        <ConnectionBar
          connection={retryAt === null ? { status: "ready" } : { status: "lost", retryAt }}
          onTryNow={onAgain}
        />
        <div className="thread-main">
          <header className="thread-head">
            <h1>
              {row.agent || agentId} <code>{threadId}</code>
            </h1>
            <Link to={play}>Open in the playground</Link>
          </header>
          {thread.forkedFrom !== null && (
            <p className="thread-origin">
              Forked from{" "}
              <Link to={threadPath(row.agent, thread.forkedFrom)}>{thread.forkedFrom}</Link>
            </p>
          )}
          {thread.hold !== null && <OnHold hold={thread.hold} />}
          {isMismatched(thread) && <Restart thread={thread} onRestarted={onAgain} />}
          <section aria-labelledby="timeline-title">
            <h2 id="timeline-title">What happened</h2>
            <Timeline thread={thread} labels={labels} />
          </section>
          <section aria-labelledby="messages-title">
            <h2 id="messages-title">Messages</h2>
            {blocks.length === 0 ? (
              <p className="sayso-quiet">None yet.</p>
            ) : (
              <div className="transcript thread-messages">
                <Blocks blocks={blocks} labels={labels} draw={drawn} />
              </div>
            )}
          </section>
          <AuditSection thread={thread} />
        </div>
        <aside className="panel" aria-label="State and journal">
          <Inspector thread={thread} labels={labels} onChanged={onAgain} />
        </aside>
      </main>
    </Layout>
  );
}

/** Who keeps a conversation from being deleted, since when, and why. */
function OnHold({ hold }: { readonly hold: Hold }) {
  return (
    <p className="thread-held">
      <span className="thread-hold">On hold</span>{" "}
      <span>
        by {plainText(personName(hold.by))} since <Time at={hold.at} />:{" "}
        <q dir="auto">{plainText(hold.reason)}</q> It cannot be deleted.
      </span>
    </p>
  );
}

function drawn(block: Block) {
  return <BlockView block={block} />;
}

/** A conversation that is not the reader's; `interruptId` is what it asks them, if anything. */
function Unknown({ interruptId }: { readonly interruptId: string | null }) {
  return interruptId === null ? (
    <>It was deleted, or it is not yours.</>
  ) : (
    <>
      It is not yours, but it waits for you.{" "}
      <Link to={`/inbox/${encodeURIComponent(interruptId)}`}>Answer its question</Link>
    </>
  );
}

function isUnknown(error: Error): boolean {
  return error instanceof ServerError && error.status === 404;
}
