import { useEffect, useReducer, useState } from "react";
import { Link } from "react-router";
import { Layout } from "../Layout.js";
import { useSharedInbox } from "../inbox/InboxProvider.js";
import { ageOf } from "../inbox/labels.js";
import { Notice } from "../Notice.js";
import { useIsAuditor } from "../audit/useIsAuditor.js";
import { useTitle } from "../title.js";
import { canTryAgain, isDenied } from "../rest.js";
import { SignIn } from "../SignIn.js";
import { textOf } from "../useRequest.js";
import { useNow } from "../useNow.js";
import { fetchThreads } from "./api.js";
import { threadPath } from "./path.js";
import type { ThreadRow } from "./records.js";
import { statusOf } from "./labels.js";

interface Threads {
  readonly rows: readonly ThreadRow[] | null;
  readonly next: string | null;
  readonly error: unknown;
}

/** All threads of the server, newest first. */
export function ThreadsPage() {
  const [{ rows, next, error }, setThreads] = useState<Threads>({
    rows: null,
    next: null,
    error: null,
  });
  const [attempt, again] = useReducer((count: number) => count + 1, 0);
  const { state } = useSharedInbox();
  const open = state.items.map((item) => item.interrupt.id).join();
  const now = useNow();
  useTitle(0, "Conversations");
  const auditor = useIsAuditor();
  useEffect(() => {
    const abort = new AbortController();
    fetchThreads(null, abort.signal).then(
      (page) => {
        setThreads({ ...page, error: null });
      },
      (reason: unknown) => {
        if (!abort.signal.aborted) setThreads((before) => ({ ...before, error: reason }));
      },
    );
    return () => {
      abort.abort();
    };
  }, [attempt, open]);
  const more = async () => {
    try {
      const page = await fetchThreads(next, new AbortController().signal);
      setThreads((before) => ({
        rows: [...(before.rows ?? []), ...page.rows],
        next: page.next,
        error: null,
      }));
    } catch (reason) {
      setThreads((before) => ({ ...before, error: reason }));
    }
  };

  if (rows === null) {
    if (isDenied(error)) return <SignIn said={error.message} />;
    return (
      <Layout tools={null}>
        {error === null ? (
          <Notice title="Loading conversations…" />
        ) : (
          <Notice
            title="Conversations cannot be shown"
            {...(canTryAgain(error) && { action: { label: "Try again", onClick: again } })}
          >
            {textOf(error)}
          </Notice>
        )}
      </Layout>
    );
  }
  return (
    <Layout tools={null}>
      <main className="threads" id="main">
        <div className="threads-head">
          <h1>Conversations</h1>
          {auditor && <Link to="/trail">Audit trail of this tenant</Link>}
        </div>
        <p role="alert" className="threads-error">
          {error === null ? null : textOf(error)}
        </p>
        {rows.length === 0 ? (
          <p className="sayso-quiet">
            No conversations yet. <Link to="/play">Start one in the playground</Link>
          </p>
        ) : (
          <ul className="thread-rows" aria-label="Conversations">
            {rows.map((row) => {
              const { words, tone } = statusOf(row);
              return (
                <li key={row.threadId}>
                  <Link to={threadPath(row.agent, row.threadId)}>
                    <strong>{row.agent}</strong>
                    <code>{row.threadId}</code>
                    <span className="thread-words" data-status={tone}>
                      {words} {row.onHold && <span className="thread-hold">On hold</span>}
                    </span>
                    <span className="thread-age">
                      {row.updatedAt === null ? "" : ageOf(Date.parse(row.updatedAt), now)}
                    </span>
                  </Link>
                </li>
              );
            })}
          </ul>
        )}
        {next !== null && (
          <button type="button" className="sayso-button" onClick={() => void more()}>
            Show more
          </button>
        )}
      </main>
    </Layout>
  );
}
