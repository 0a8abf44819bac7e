import type { Connection } from "@sayso/react";
import { failureText, type InboxState } from "@sayso/react/core";
import { useCallback, useMemo, useRef, useState } from "react";
import { Link, useNavigate, useSearchParams } from "react-router";
import { ConnectionBar } from "../ConnectionBar.js";
import { Layout } from "../Layout.js";
import { Notice } from "../Notice.js";
import { SignIn } from "../SignIn.js";
import { useShortcuts, useShortcutsOn } from "../shortcuts.js";
import { useTitle } from "../title.js";
import { useNow } from "../useNow.js";
import { Detail, Together } from "./Detail.js";
import { applyFilter, isFiltering, readFilter, writeFilter, type Filter } from "./filter.js";
import { Filters } from "./Filters.js";
import { Help } from "./Help.js";
import { unansweredBeside } from "./labels.js";
import { useSharedInbox, waitingIn } from "./InboxProvider.js";
import { List } from "./List.js";
import { usePathParts } from "../thread/path.js";
import type { Act } from "./keyboardNavigation.js";
import { useListNavigation } from "./useListNavigation.js";
import { aboutOf, useNextQuestion } from "./useNextQuestion.js";

/** Everything that waits for a person, in all threads: found, read and answered in place. */
export function InboxPage() {
  const { inbox, state } = useSharedInbox();
  const [interruptId = null] = usePathParts();
  const [query] = useSearchParams();
  const navigate = useNavigate();
  const now = useNow(inbox.clock);
  const search = useRef<HTMLInputElement>(null);
  const page = useRef<HTMLElement>(null);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [together, setTogether] = useState<readonly string[] | null>(null);
  const [help, setHelp] = useState(false);
  // Counted, so that the same words are heard again when they are said again.
  const [said, setSaid] = useState({ text: "", count: 0 });
  const say = (text: string) => {
    setSaid(({ count }) => ({ text, count: count + 1 }));
  };
  const filter = readFilter(query);
  const filtering = isFiltering(filter);
  const { items, connection } = state;
  const shown = applyFilter(items, filter, now);
  const ids = useMemo(() => shown.map((inboxItem) => inboxItem.interrupt.id), [shown]);
  useTitle(waitingIn(state), "Inbox");

  const hrefOf = (id: string | null, over: Filter = filter) =>
    `/inbox${id === null ? "" : `/${encodeURIComponent(id)}`}${writeFilter(over)}`;
  const go = (id: string | null) => {
    setTogether(null);
    void navigate(hrefOf(id), { replace: interruptId !== null });
  };
  const { step, act, reset } = useListNavigation({ ids, currentId: interruptId, page, go });
  const { decided, hasJustMoved } = useNextQuestion({
    inbox,
    ids,
    currentId: together === null ? interruptId : null,
    page,
    go,
    say,
  });
  const decide = (verdict: Act) => {
    if (!hasJustMoved()) act(verdict);
  };
  const select = useCallback((id: string, on: boolean) => {
    setSelected((before) => {
      const next = new Set(before);
      if (on) next.add(id);
      else next.delete(id);
      return next;
    });
  }, []);
  const chosen = ids.filter((id) => selected.has(id));
  const leave = () => {
    reset();
    if (together !== null) setTogether(null);
    else if (selected.size > 0) setSelected(new Set());
    else go(null);
  };
  const waiting = Object.keys(state.sendAt).at(-1);
  const undo = (id: string) => {
    const item = items.find(({ interrupt }) => interrupt.id === id);
    void inbox.withdraw(id);
    if (item !== undefined) say(`Undone: ${aboutOf(item.interrupt)} is open again.`);
    const isShown = together !== null ? together.includes(id) : interruptId === id;
    if (isShown) return;
    // What was chosen together is still chosen on the way back from a question outside of it.
    if (together !== null) setSelected(new Set(together));
    go(id);
  };
  useShortcuts({
    j: () => {
      step(1);
    },
    k: () => {
      step(-1);
    },
    a: () => {
      decide("approve");
    },
    d: () => {
      decide("deny");
    },
    e: () => {
      act("edit");
    },
    ...(waiting !== undefined && {
      z: () => {
        undo(waiting);
      },
    }),
    x: () => {
      if (interruptId !== null) select(interruptId, !selected.has(interruptId));
    },
    "/": () => {
      search.current?.focus();
    },
    "?": () => {
      setHelp(true);
    },
    Escape: leave,
  });

  if (connection.status === "absent" || connection.status === "refused") {
    return <Closed connection={connection} />;
  }
  const detail = together !== null || interruptId !== null;
  const empty = items.length === 0 && !filtering && !detail;
  return (
    <Layout
      tools={
        <button
          type="button"
          className="quiet-button keys-button"
          onClick={() => {
            setHelp(true);
          }}
        >
          Keys <kbd>?</kbd>
        </button>
      }
    >
      <main
        className="inbox"
        id="main"
        ref={page}
        tabIndex={-1}
        data-detail={detail}
        data-empty={empty}
        onPointerDown={reset}
      >
        <ConnectionBar
          connection={connection}
          onTryNow={() => {
            inbox.reconnect();
          }}
        />
        <h1 className="sayso-sr">Inbox</h1>
        <p className="sayso-sr" role="status">
          <span key={said.count}>{said.text}</span>
        </p>
        <section className="inbox-list" aria-label="List">
          <header className="inbox-head">
            <span className="inbox-title" aria-hidden="true">
              Inbox
            </span>
            <p role="status" className="inbox-count">
              {countOf(state, shown.length)}
            </p>
          </header>
          <Filters
            filter={filter}
            items={items}
            search={search}
            onChange={(next) => {
              void navigate(hrefOf(interruptId, next), { replace: true });
            }}
          />
          <div className="inbox-bulk" data-any={chosen.length > 0}>
            <label className="switch">
              <input
                type="checkbox"
                checked={ids.length > 0 && chosen.length === ids.length}
                disabled={ids.length === 0}
                onChange={({ target }) => {
                  setSelected(target.checked ? new Set(ids) : new Set());
                }}
              />
              {chosen.length === 0 ? "Select all" : `${chosen.length} selected`}
            </label>
            {chosen.length > 0 && (
              <button
                type="button"
                className="sayso-button sayso-small sayso-primary"
                onClick={() => {
                  setTogether(chosen);
                  setSelected(new Set());
                }}
              >
                Decide together
              </button>
            )}
          </div>
          <div className="inbox-scroll">
            {shown.length === 0 ? (
              <Nothing
                known={state.known}
                lost={connection.status === "lost"}
                filtering={filtering}
              />
            ) : (
              <List
                items={shown}
                decided={decided}
                left={(item) => unansweredBeside(item, items)}
                currentId={interruptId}
                selected={selected}
                now={now}
                hrefOf={hrefOf}
                onSelect={select}
              />
            )}
          </div>
        </section>
        <section
          className="inbox-detail"
          aria-label="The question"
          // The second click of two that came fast was not meant for the question that just opened.
          onClickCapture={(event) => {
            if (!hasJustMoved()) return;
            event.preventDefault();
            event.stopPropagation();
          }}
        >
          {detail && (
            <div className="detail-bar">
              <Link
                to={hrefOf(null)}
                className="back"
                onClick={() => {
                  setTogether(null);
                }}
              >
                All questions
              </Link>
            </div>
          )}
          {together !== null ? (
            <Together inbox={inbox} state={state} ids={together} />
          ) : interruptId !== null ? (
            <Detail key={interruptId} inbox={inbox} state={state} id={interruptId} />
          ) : (
            shown.length > 0 && <Choose />
          )}
        </section>
        <Help
          open={help}
          onClose={() => {
            setHelp(false);
          }}
        />
      </main>
    </Layout>
  );
}

/** Stands where the question will be. */
function Choose() {
  const [keys] = useShortcutsOn();
  return (
    <div className="choose">
      <p>Choose a question{keys && ", or press a key"}.</p>
      {keys && (
        <ul className="choose-keys">
          {HINTS.map(([key, what]) => (
            <li key={key}>
              <kbd>{key}</kbd> {what}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

const HINTS = [
  ["j", "next question"],
  ["a", "approve"],
  ["d", "deny"],
  ["?", "all keys"],
] as const;

function Nothing(props: {
  readonly known: boolean;
  readonly lost: boolean;
  readonly filtering: boolean;
}) {
  const { known, lost, filtering } = props;
  if (!known) {
    return (
      <p className="detail-note">
        {lost ? "Questions appear when the server is back." : "Loading the inbox…"}
      </p>
    );
  }
  if (filtering) {
    return (
      <p className="detail-note">
        No question matches. <Link to="/inbox">Show all</Link>
      </p>
    );
  }
  return (
    <div className="nothing">
      <p>
        <strong>Nothing waits for you.</strong>
      </p>
      <p>New questions appear here by themselves, from every conversation.</p>
    </div>
  );
}

function Closed({ connection }: { readonly connection: Connection }) {
  if (connection.status === "refused") return <SignIn said={failureText(connection.failure)} />;
  return (
    <Layout tools={null}>
      <Notice title="No inbox">This server has no inbox. Use the playground instead.</Notice>
    </Layout>
  );
}

function countOf(state: InboxState, shown: number): string {
  const { items, known, partial } = state;
  if (!known) return "";
  const open = waitingIn(state);
  const held = items.filter((item) => item.held !== null).length;
  const others = items.length - open - held;
  const all = [
    `${open}${partial ? " or more" : ""} open`,
    ...(held > 0 ? [`${held} answered`] : []),
    ...(others > 0 ? [`${others} waiting for others`] : []),
  ].join(", ");
  return shown === items.length ? all : `${shown} of ${all}`;
}
