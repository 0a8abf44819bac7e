import type { InterruptView } from "@sayso/react";
import {
  callAbout,
  inboxView,
  personName,
  type Inbox,
  type InboxItem,
  type InboxState,
} from "@sayso/react/core";
import { CardStack, InterruptCard, NotSent, SignInToSend } from "@sayso/react/components";
import { useEffect, useState } from "react";
import { Link } from "react-router";
import { Context } from "./Context.js";
import { AssignAndExtend } from "./AssignAndExtend.js";
import { threadPath } from "../thread/path.js";
import { agreementOf, unansweredBeside } from "./labels.js";

interface DetailProps {
  readonly inbox: Inbox;
  readonly state: InboxState;
}

/** One question in full, answered in place; it stays until the reader goes on. */
export function Detail({ inbox, state, id }: DetailProps & { readonly id: string }) {
  const unknown = useLookup(inbox, state, id);
  const view = inboxView(state, id, inbox.clock());
  const item = useLast(state.items.find((inboxItem) => inboxItem.interrupt.id === id));
  if (view === null) {
    return (
      <p className="detail-note" role="status">
        {unknown
          ? "This question no longer exists, or it is not yours. Choose one from the list, or ask who sent the link."
          : "Loading…"}
      </p>
    );
  }
  const failure = state.failures[id] ?? null;
  const card = (
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
        onSendNow={() => void inbox.send([id])}
        onTakeBack={() => void inbox.withdraw(id)}
      />
      <NotSent
        failure={failure}
        ready={
          view.phase === "answered" && state.answers[id] !== undefined && !(id in state.sendAt)
        }
        onRetry={() => void inbox.send([id])}
      />
      <SignInToSend failure={failure} interrupts={[view.interrupt]} />
      {item !== undefined && view.closed === null && <AssignAndExtend inbox={inbox} item={item} />}
    </div>
  );
  if (item === undefined || item.yours) return card;
  return (
    <div className="detail-pair">
      {card}
      <Context id={id} moment={view.phase} clock={inbox.clock} />
    </div>
  );
}

/** Several questions of any threads, decided together. */
export function Together({ inbox, state, ids }: DetailProps & { readonly ids: readonly string[] }) {
  const now = inbox.clock();
  const views = ids.flatMap((id) => inboxView(state, id, now) ?? []);
  const open = views.filter((view) => view.closed === null);
  const ready = open.every(
    (interruptView) => interruptView.phase === "answered" && interruptView.problems.length === 0,
  );
  const failed = ids.map((id) => state.failures[id]).find((failure) => failure !== undefined);
  const itemOf = (id: string) => state.items.find((item) => item.interrupt.id === id);
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
      onSendNow={(id) => void inbox.send([id])}
      onTakeBack={(id) => void inbox.withdraw(id)}
      onSend={() => void inbox.send(ids)}
    />
  );
}

function Origin({ item }: { readonly item: InboxItem }) {
  return (
    <p className="detail-origin">
      <span>{item.agent}</span>
      {item.yours ? (
        <Link to={threadPath(item.agent, item.threadId)}>conversation {item.threadId}</Link>
      ) : (
        <span>conversation {item.threadId}</span>
      )}
      {item.assignedTo !== null && <span>for {item.assignedTo}</span>}
      {item.agreed.length > 0 && <span>{agreementOf(item)}</span>}
    </p>
  );
}

function noteOf(state: InboxState, { interrupt }: InterruptView): string {
  const item = state.items.find((inboxItem) => inboxItem.interrupt.id === interrupt.id);
  if (state.left.includes(interrupt.id)) return "not sent: you left before it was";
  if (state.restored.includes(interrupt.id)) return "may not have arrived: the page was left";
  if (item === undefined || state.answers[interrupt.id] !== undefined || item.held === null) {
    return "not sent yet";
  }
  const others = unansweredBeside(item, state.items);
  const by = item.held.by === null ? "" : ` by ${personName(item.held.by)}`;
  return others === 0
    ? `saved${by}`
    : `saved${by}, continues once ${others} more ${others === 1 ? "question is" : "questions are"} answered`;
}

/** Asks the server about an interrupt that is not in the list; true when it knows nothing. */
function useLookup(inbox: Inbox, state: InboxState, id: string): boolean {
  const [missing, setMissing] = useState<string | null>(null);
  const stored =
    id in state.closed || state.items.some((item) => item.interrupt.id === id) || missing === id;
  const ready = state.connection.status === "ready";
  useEffect(() => {
    if (stored || !ready) return undefined;
    let over = false;
    void inbox.refresh(id).then((match) => {
      if (!over && !match) setMissing(id);
    });
    return () => {
      over = true;
    };
  }, [inbox, id, stored, ready]);
  return missing === id;
}

/** The last value that was there, for as long as the component stands. */
function useLast<T>(value: T | undefined): T | undefined {
  const [last, setLast] = useState(value);
  if (value !== undefined && value !== last) setLast(value);
  return value ?? last;
}
