import type { Message } from "@ag-ui/client";
import { useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import {
  callOf,
  canSubmit,
  viewsOf,
  type Batch,
  type InterruptController,
  type InterruptView,
} from "../core/index.js";
import { InterruptCard } from "./InterruptCard.js";

export interface InterruptGroupProps {
  readonly controller: InterruptController;
  /** The questions one run asked together. */
  readonly batch: Batch;
  /** Where the tool calls are found that the questions are about. */
  readonly messages: readonly Message[];
}

/**
 * The questions that one run asked together. A single one is sent as soon as it is answered; of
 * several each is answered on its own, can be changed, and all are sent by one button.
 */
export function InterruptGroup({ controller, batch, messages }: InterruptGroupProps) {
  const { subscribe, getSnapshot, clock } = controller;
  const state = useSyncExternalStore(subscribe, getSnapshot, getSnapshot);
  const views = useMemo(() => viewsOf(state, batch), [state, batch]);
  const open = views.filter((view) => view.closed === null);
  const several = views.length > 1;
  const done = open.filter((view) => view.answer !== null && view.problems.length === 0).length;
  // What the server complained about has to be changed first; anything else may be sent again.
  const ready = canSubmit(state, clock()) && open.every((view) => view.problems.length === 0);
  const failure = open.length > 0 ? state.failure : null;
  const sending = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (failure !== null) sending.current?.scrollIntoView({ block: "nearest" });
  }, [failure]);
  const send = () => {
    void controller.submit();
  };

  return (
    <div className="sayso-group" data-open={open.length > 0}>
      {views.map((view, index) => (
        <InterruptCard
          key={view.interrupt.id}
          view={view}
          call={callFor(view, messages)}
          clock={clock}
          {...(several && { place: { index, total: views.length } })}
          onAnswer={(answer) => {
            const taken = controller.answer(view.interrupt.id, answer);
            if (taken && !several) send();
          }}
          onWithdraw={() => {
            controller.withdraw(view.interrupt.id);
          }}
        />
      ))}
      <div
        className="sayso-sending"
        ref={sending}
        hidden={open.length === 0 || (!several && failure === null)}
      >
        <p role="alert" className="sayso-failure">
          {failure !== null && (
            <>
              <strong>Not sent. </strong>
              {failure.message}
            </>
          )}
        </p>
        {several && (
          <p role="status" className="sayso-progress">
            {`${done} of ${open.length} answered`}
          </p>
        )}
        {(several || ready) && (
          <button
            type="button"
            className="sayso-button sayso-primary"
            disabled={!ready}
            onClick={send}
          >
            {failure !== null ? "Try again" : `Send ${open.length} answers`}
          </button>
        )}
      </div>
    </div>
  );
}

function callFor(view: InterruptView, messages: readonly Message[]) {
  const { toolCallId } = view.interrupt;
  return toolCallId === undefined ? null : callOf(messages, toolCallId);
}
