"use client";

import type { Message } from "@ag-ui/client";
import { useEffect, useMemo, useRef, useSyncExternalStore, type ReactNode } from "react";
import {
  callAbout,
  canRetry,
  canSubmit,
  failureText,
  viewsOf,
  type Batch,
  type Failure,
  type InterruptController,
  type InterruptView,
} from "../core/index.js";
import { CardStack } from "./CardStack.js";
import { InterruptCard } from "./InterruptCard.js";
import type { Cards } from "./ownCards.js";
import { SignInToSend } from "./signInAgain.js";

export interface InterruptGroupProps {
  readonly controller: InterruptController;
  /** The questions one run asked together. */
  readonly batch: Batch;
  /** Where the tool calls are found that the questions are about. */
  readonly messages: readonly Message[];
  /** Stands above each card. */
  readonly above?: (view: InterruptView) => ReactNode;
  /** Cards of one's own, by the name of the tool, or by reason. */
  readonly cards?: Cards;
}

/**
 * The questions that one run asked together. A single one is sent as soon as it is answered; of
 * several each is answered on its own or with all others, can be changed, and all are sent together.
 */
export function InterruptGroup(props: InterruptGroupProps) {
  const { controller, batch, messages, above, cards } = props;
  const { subscribe, getSnapshot, clock } = controller;
  const state = useSyncExternalStore(subscribe, getSnapshot, getSnapshot);
  const views = useMemo(() => viewsOf(state, batch), [state, batch]);
  const [view] = views;
  const open = views.some((interruptView) => interruptView.closed === null);
  // Whatever the server complained about has to be changed first; anything else may be sent again.
  const { holds } = controller;
  const fit = views.every((interruptView) => interruptView.problems.length === 0);
  const ready = fit && (holds || canSubmit(state, clock()));
  const failure = open ? state.failure : null;
  const takeBack = (id: string) => {
    void controller.takeBack(id);
  };
  const send = () => {
    // Asked anew: an answer was perhaps given in the same breath.
    void (controller.holds ? controller.hold() : controller.submit());
  };
  if (views.length > 1) {
    return (
      <CardStack
        views={views}
        callOf={({ interrupt }) => callAbout(interrupt, messages)}
        clock={clock}
        ready={ready}
        failure={failure}
        onAnswer={(id, answer) => controller.answer(id, answer)}
        onWithdraw={(id) => {
          controller.withdraw(id);
        }}
        onSend={send}
        {...(controller.takesBack && { onTakeBack: takeBack })}
        {...(above !== undefined && { above })}
        {...(cards !== undefined && { cards })}
      />
    );
  }
  if (view === undefined) return null;
  const { id } = view.interrupt;
  return (
    <div className="sayso-group" data-open={open}>
      {above?.(view)}
      <InterruptCard
        view={view}
        call={callAbout(view.interrupt, messages)}
        clock={clock}
        onAnswer={(answer) => {
          if (controller.answer(id, answer)) send();
        }}
        onWithdraw={() => {
          controller.withdraw(id);
        }}
        {...(cards !== undefined && { cards })}
        {...(controller.takesBack && {
          onTakeBack: () => {
            takeBack(id);
          },
        })}
      />
      <NotSent failure={failure} ready={ready} onRetry={send} />
      <SignInToSend failure={failure} interrupts={[view.interrupt]} />
    </div>
  );
}

/**
 * The line below a single question: why it was not sent and, where that can help, the way to try
 * again, or the way to send an answer that was given before a reload.
 */
export function NotSent(props: {
  readonly failure: Failure | null;
  readonly ready: boolean;
  readonly onRetry: () => void;
}) {
  const { failure, ready, onRetry } = props;
  const again = ready && (failure === null || canRetry(failure));
  const line = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (failure !== null) line.current?.scrollIntoView({ block: "nearest" });
  }, [failure]);
  return (
    <div className="sayso-sending" ref={line} data-open={failure !== null || ready}>
      <p role="alert" className="sayso-failure">
        {failure !== null && (
          <>
            <strong>Not sent. </strong>
            {failureText(failure)}
          </>
        )}
      </p>
      {again && (
        <button type="button" className="sayso-button sayso-primary" onClick={onRetry}>
          {failure === null ? "Send this answer" : "Try again"}
        </button>
      )}
    </div>
  );
}
