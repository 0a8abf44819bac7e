import type { InterruptView } from "@sayso/react";
import { callAbout } from "@sayso/react/core";
import { CardStack, InterruptCard, NotSent } from "@sayso/react/components";
import { inboxView, type Inbox, type InboxItem, type InboxState } from "@sayso/react/inbox";
import { useEffect, useState } from "react";
import { Link } from "react-router";
import { Handling } from "./Handling.js";
import { threadPath } from "../thread/path.js";
import { agreementOf } from "./words.js";

interface DetailProps {
  readonly inbox: Inbox;
  readonly state: InboxState;
}

/** One question in full, answered in place; it stays until the reader goes on. */
export function Detail({ inbox, state, id }: DetailProps & { readonly id: string }) {
  const unknown = useLookup(inbox, state, id);
  const view = inboxView(state, id, inbox.clock());
  const item = useLast(state.items.find((one) => one.interrupt.id === id));
  if (view === null) {
    return (
      <p className="detail-note" role="status">
        {unknown ? "The server does not know this question (any more)." : "Looking it up…"}
      </p>
    );
  }
  const failure = state.failures[id] ?? null;
  return (
    <div className="sayso-group detail-card">
      {item !== undefined && <Origin item={item} />}
      <InterruptCard
        key={id}
        view={view}
        call={callAbout(view.interrupt, [])}
        clock={inbox.clock}
        note={noteOf(state, view)}
        onAnswer={(answer) => void inbox.answer(id, answer)}
        onWithdraw={() => void inbox.withdraw(id)}
      />
      <NotSent
        failure={failure}
        ready={view.phase === "answered" && state.answers[id] !== undefined}
        onRetry={() => void inbox.send([id])}
      />
      {item !== undefined && view.closed === null && <Handling inbox={inbox} item={item} />}
    </div>
  );
}

/** Several questions of any threads, decided together. */
export function Together({ inbox, state, ids }: DetailProps & { readonly ids: readonly string[] }) {
  const now = inbox.clock();
  const views = ids.flatMap((id) => inboxView(state, id, now) ?? []);
  const open = views.filter((one) => one.closed === null);
  const ready = open.every((one) => one.phase === "answered" && one.problems.length === 0);
  const failed = ids.map((id) => state.failures[id]).find((one) => one !== undefined);
  const itemOf = (id: string) => state.items.find((one) => one.interrupt.id === id);
  return (
    <CardStack
      views={views}
      callOf={({ interrupt }) => callAbout(interrupt, [])}
      clock={inbox.clock}
      ready={open.length > 0 && ready}
      failure={failed ?? null}
      noteOf={(view) => noteOf(state, view)}
      above={({ interrupt }) => {
        const item = itemOf(interrupt.id);
        return item === undefined ? null : <Origin item={item} />;
      }}
      onAnswer={(id, answer) => inbox.keep(id, answer)}
      onWithdraw={(id) => void inbox.withdraw(id)}
      onSend={() => void inbox.send(ids)}
    />
  );
}

function Origin({ item }: { readonly item: InboxItem }) {
  return (
    <p className="detail-origin">
      <span>{item.agent}</span>
      <Link to={threadPath(item.agent, item.threadId)}>thread {item.threadId}</Link>
      {item.assignedTo !== null && <span>for {item.assignedTo}</span>}
      {item.agreed.length > 0 && <span>{agreementOf(item)}</span>}
    </p>
  );
}

function noteOf(state: InboxState, { interrupt }: InterruptView): string {
  const item = state.items.find((one) => one.interrupt.id === interrupt.id);
  if (item === undefined || state.answers[interrupt.id] !== undefined || item.held === null) {
    return "not sent yet";
  }
  const others = state.items.filter(
    (one) => one.threadId === item.threadId && one !== item && one.held === null,
  ).length;
  const by = item.held.by === null ? "" : ` by ${item.held.by}`;
  return others === 0
    ? `kept${by}`
    : `kept${by}; goes on when ${others} more of its thread ${others === 1 ? "is" : "are"} answered`;
}

/** Asks the server about an interrupt that is not in the list; true when it knows nothing. */
function useLookup(inbox: Inbox, state: InboxState, id: string): boolean {
  const [missing, setMissing] = useState<string | null>(null);
  const known =
    id in state.closed || state.items.some((one) => one.interrupt.id === id) || missing === id;
  const ready = state.connection.status === "ready";
  useEffect(() => {
    if (known || !ready) return undefined;
    let over = false;
    void inbox.look(id).then((found) => {
      if (!over && !found) setMissing(id);
    });
    return () => {
      over = true;
    };
  }, [inbox, id, known, ready]);
  return missing === id;
}

/** The last value that was there, for as long as the component stands. */
function useLast<T>(value: T | undefined): T | undefined {
  const [last, setLast] = useState(value);
  if (value !== undefined && value !== last) setLast(value);
  return value ?? last;
}
