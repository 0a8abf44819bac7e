import type { Message } from "@ag-ui/client";
import { useEffect, useMemo, useRef, useSyncExternalStore, type ReactNode } from "react";
import {
  callAbout,
  canSubmit,
  viewsOf,
  type Batch,
  type Failure,
  type InterruptController,
  type InterruptView,
} from "../core/index.js";
import { CardStack } from "./CardStack.js";
import { InterruptCard } from "./InterruptCard.js";

export interface InterruptGroupProps {
  readonly controller: InterruptController;
  /** The questions one run asked together. */
  readonly batch: Batch;
  /** Where the tool calls are found that the questions are about. */
  readonly messages: readonly Message[];
  /** Stands above each card. */
  readonly above?: (view: InterruptView) => ReactNode;
}

/**
 * The questions that one run asked together. A single one is sent as soon as it is answered; of
 * several each is answered on its own or with all others, can be changed, and all are sent together.
 */
export function InterruptGroup({ controller, batch, messages, above }: InterruptGroupProps) {
  const { subscribe, getSnapshot, clock } = controller;
  const state = useSyncExternalStore(subscribe, getSnapshot, getSnapshot);
  const views = useMemo(() => viewsOf(state, batch), [state, batch]);
  const [view] = views;
  const open = views.some((one) => one.closed === null);
  // What the server complained about has to be changed first; anything else may be sent again.
  const ready = canSubmit(state, clock()) && views.every((one) => one.problems.length === 0);
  const failure = open ? state.failure : null;
  const send = () => {
    void controller.submit();
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
        {...(above !== undefined && { above })}
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
      />
      <NotSent failure={failure} ready={ready} onRetry={send} />
    </div>
  );
}

/**
 * What stands below a single question: why it was not sent and the way to try again, or the way to
 * send an answer that was given before a reload.
 */
export function NotSent(props: {
  readonly failure: Failure | null;
  readonly ready: boolean;
  readonly onRetry: () => void;
}) {
  const { failure, ready, onRetry } = props;
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
            {failure.message}
          </>
        )}
      </p>
      {ready && (
        <button type="button" className="sayso-button sayso-primary" onClick={onRetry}>
          {failure === null ? "Send this answer" : "Try again"}
        </button>
      )}
    </div>
  );
}
