import { PlainText } from "@sayso/react/components";
import { callAbout, labelOf, rightsOf, subjectOf, type InboxItem } from "@sayso/react/core";
import { Fragment, memo, useEffect, useRef } from "react";
import { Link } from "react-router";
import { ageOf, dueOf, saidOf } from "./labels.js";
import type { Decided } from "./useNextQuestion.js";

export interface ListProps {
  readonly items: readonly InboxItem[];
  /** What was decided a moment ago, to be seen where it stood. */
  readonly decided: readonly Decided[];
  /** How many other questions of an answered one's conversation have no answer yet. */
  readonly left: (item: InboxItem) => number;
  readonly currentId: string | null;
  readonly selected: ReadonlySet<string>;
  readonly now: number;
  readonly hrefOf: (id: string) => string;
  readonly onSelect: (id: string, selected: boolean) => void;
}

/** The open questions, one row each: a link to the question, and a box to answer several at once. */
export function List(props: ListProps) {
  const { items, decided, left, currentId, selected, now, hrefOf, onSelect } = props;
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    list.current
      ?.querySelector('[aria-current="true"]')
      ?.closest("li")
      ?.scrollIntoView({ block: "nearest" });
  }, [currentId]);
  return (
    <ul className="rows" ref={list} aria-label="Open questions">
      {items.map((item, index) => {
        const { id } = item.interrupt;
        const gone = decided.filter(({ place }) => place === index);
        return (
          <Fragment key={id}>
            {gone.map((one) => (
              <DecidedRow key={one.item.interrupt.id} decided={one} />
            ))}
            <Row
              item={item}
              href={hrefOf(id)}
              current={id === currentId}
              selected={selected.has(id)}
              age={ageOf(item.createdAt, now)}
              waits={waitsOf(item, left)}
              due={dueOf(item, now)?.text ?? null}
              urgent={dueOf(item, now)?.urgent ?? false}
              onSelect={onSelect}
            />
          </Fragment>
        );
      })}
      {decided
        .filter(({ place }) => place >= items.length)
        .map((one) => (
          <DecidedRow key={one.item.interrupt.id} decided={one} />
        ))}
    </ul>
  );
}

/** A question that is decided, for the moment that it stays. */
function DecidedRow({ decided: { item, outcome } }: { readonly decided: Decided }) {
  const { interrupt } = item;
  const subject = subjectOf(interrupt, callAbout(interrupt, []));
  return (
    <li className="inbox-row" data-decided="true">
      <span className="row-box" />
      <span className="row-link">
        <span className="row-head">
          <s className="row-label">{labelOf(interrupt)}</s>
          {subject !== null && (
            <s>
              <code>
                <PlainText text={subject} />
              </code>
            </s>
          )}
          <span className="row-due">{outcome}</span>
        </span>
        <s className="row-message" dir="auto">
          <PlainText text={saidOf(interrupt)} />
        </s>
        <span className="row-foot">
          <span>{item.agent}</span>
          <span className="row-thread">{item.threadId}</span>
        </span>
      </span>
    </li>
  );
}

interface RowProps {
  readonly item: InboxItem;
  readonly href: string;
  readonly current: boolean;
  readonly selected: boolean;
  readonly age: string;
  readonly waits: string | null;
  readonly due: string | null;
  readonly urgent: boolean;
  readonly onSelect: (id: string, selected: boolean) => void;
}

const Row = memo(function Row(props: RowProps) {
  const { item, href, current, selected, age, waits, due, urgent, onSelect } = props;
  const { interrupt, agent, threadId, assignedTo } = item;
  const subject = subjectOf(interrupt, callAbout(interrupt, []));
  const label = labelOf(interrupt);

  return (
    <li className="inbox-row" data-current={current} data-waits={waits !== null}>
      <label className="row-box">
        <span className="sayso-sr">
          Select {label} {subject ?? interrupt.message ?? interrupt.id}
        </span>
        <input
          type="checkbox"
          checked={selected}
          onChange={({ target }) => {
            onSelect(interrupt.id, target.checked);
          }}
        />
      </label>
      <Link to={href} className="row-link" aria-current={current ? "true" : undefined}>
        <span className="row-head">
          <span className="row-label">{label}</span>
          {subject !== null && (
            <code>
              <PlainText text={subject} />
            </code>
          )}
          {due !== null && (
            <span className="row-due" data-urgent={urgent}>
              {due}
            </span>
          )}
        </span>
        <span className="row-message" dir="auto">
          <PlainText text={saidOf(interrupt)} />
        </span>
        <span className="row-foot">
          <span>{agent}</span>
          <span className="row-thread">{threadId}</span>
          {assignedTo !== null && <span>for {assignedTo}</span>}
          {waits !== null && <span className="row-waits">{waits}</span>}
          <span className="row-age">{age}</span>
        </span>
      </Link>
    </li>
  );
});

/** Whom or what it waits for, where that is not the reader. */
function waitsOf(item: InboxItem, left: ListProps["left"]): string | null {
  const { interrupt, held } = item;
  if (held !== null) return `answered, ${left(item)} more to go`;
  const rights = rightsOf(interrupt);
  if (rights.answer) return null;
  if (rights.signIn) return "after a fresh sign-in";
  const whom = `waits for ${rights.waitsFor ?? "others"}`;
  return rights.youAgreed ? `you approved, ${whom}` : whom;
}
