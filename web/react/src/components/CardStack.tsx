"use client";

import { Fragment, useRef, useState, type ReactNode } from "react";
import type { Answer, CallView, Failure, InterruptView } from "../core/index.js";
import { BatchBar } from "./BatchBar.js";
import { InterruptCard } from "./InterruptCard.js";
import type { Cards } from "./ownCards.js";
import { readNext, turnTo } from "./reading.js";

export interface CardStackProps {
  readonly views: readonly InterruptView[];
  readonly callOf: (view: InterruptView) => CallView | null;
  readonly clock: () => number;
  /** True if everything may be sent as it is. */
  readonly ready: boolean;
  /** Why the last attempt to send came to nothing. */
  readonly failure: Failure | null;
  /** Keeps an answer; says whether it was taken. */
  readonly onAnswer: (id: string, answer: Answer) => boolean;
  readonly onWithdraw: (id: string) => void;
  /** Sends at once what is about to be sent by itself; without it, that is not offered. */
  readonly onSendNow?: (id: string) => void;
  /** Takes back what this reader has told the server; without it, that is not offered. */
  readonly onTakeBack?: (id: string) => void;
  readonly onSend: () => void;
  /** The note beside an answer that is not settled yet. */
  readonly noteOf?: (view: InterruptView) => string;
  /** Stands above each card. */
  readonly above?: (view: InterruptView) => ReactNode;
  /** Cards of one's own, by the name of the tool, or by reason. */
  readonly cards?: Cards;
}

/**
 * Several questions under one bar: each is answered on its own or with all others, can be changed,
 * and all are sent together.
 */
export function CardStack(props: CardStackProps) {
  const { views, callOf, clock, ready, failure, onAnswer, onWithdraw, onSend } = props;
  const { noteOf, above, cards, onTakeBack, onSendNow } = props;
  const [shown, setShown] = useState<ReadonlySet<string>>(new Set());
  const [unfolded, setUnfolded] = useState(false);
  const stack = useRef<HTMLDivElement>(null);
  const cardOf = (id: string) => {
    const index = views.findIndex((view) => view.interrupt.id === id);
    return stack.current?.querySelectorAll<HTMLElement>(":scope > .sayso-card")[index];
  };
  return (
    <div
      className="sayso-group"
      ref={stack}
      role="group"
      aria-label={`${views.length} questions`}
      data-open={views.some((view) => view.closed === null)}
      data-several={true}
    >
      {views.map((view, index) => (
        <Fragment key={view.interrupt.id}>
          {above?.(view)}
          <InterruptCard
            view={view}
            call={callOf(view)}
            clock={clock}
            place={{ index, total: views.length }}
            unfolded={unfolded}
            {...(noteOf !== undefined && { note: noteOf(view) })}
            {...(cards !== undefined && { cards })}
            onShown={() => {
              setShown((before) => new Set(before).add(view.interrupt.id));
            }}
            onAnswer={(answer) => {
              onAnswer(view.interrupt.id, answer);
            }}
            onWithdraw={() => {
              onWithdraw(view.interrupt.id);
            }}
            {...(onSendNow !== undefined && {
              onSendNow: () => {
                onSendNow(view.interrupt.id);
              },
            })}
            {...(onTakeBack !== undefined && {
              onTakeBack: () => {
                onTakeBack(view.interrupt.id);
              },
            })}
          />
        </Fragment>
      ))}
      <BatchBar
        views={views}
        ready={ready}
        failure={failure}
        shown={shown}
        onGoTo={(id) => {
          turnTo(cardOf(id));
        }}
        onReadOn={(id) => {
          setUnfolded(true);
          readNext(cardOf(id));
        }}
        onAnswer={onAnswer}
        onSend={onSend}
      />
    </div>
  );
}
