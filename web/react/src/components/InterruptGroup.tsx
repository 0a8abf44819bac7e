import type { Message } from "@ag-ui/client";
import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import {
  callAbout,
  viewsOf,
  type Batch,
  type Failure,
  type InterruptController,
  type InterruptView,
} from "../core/index.js";
import { BatchBar } from "./BatchBar.js";
import { readOn, turnTo } from "./reading.js";
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
 * several each is answered on its own or with all others, can be changed, and all are sent together.
 */
export function InterruptGroup({ controller, batch, messages }: InterruptGroupProps) {
  const { subscribe, getSnapshot, clock } = controller;
  const state = useSyncExternalStore(subscribe, getSnapshot, getSnapshot);
  const views = useMemo(() => viewsOf(state, batch), [state, batch]);
  const [shown, setShown] = useState<ReadonlySet<string>>(new Set());
  const [unfolded, setUnfolded] = useState(false);
  const group = useRef<HTMLDivElement>(null);
  const several = views.length > 1;
  const open = views.some((view) => view.closed === null);
  const send = () => {
    void controller.submit();
  };
  const cardOf = (id: string) => {
    const index = views.findIndex((view) => view.interrupt.id === id);
    return group.current?.querySelectorAll<HTMLElement>(":scope > .sayso-card")[index];
  };

  return (
    <div
      className="sayso-group"
      ref={group}
      data-open={open}
      data-several={several}
      {...(several && { role: "group", "aria-label": `${views.length} questions` })}
    >
      {views.map((view, index) => (
        <InterruptCard
          key={view.interrupt.id}
          view={view}
          call={callAbout(view.interrupt, messages)}
          clock={clock}
          unfolded={unfolded}
          {...(several && {
            place: { index, total: views.length },
            onShown: () => {
              setShown((before) => new Set(before).add(view.interrupt.id));
            },
          })}
          onAnswer={(answer) => {
            const taken = controller.answer(view.interrupt.id, answer);
            if (taken && !several) send();
          }}
          onWithdraw={() => {
            controller.withdraw(view.interrupt.id);
          }}
        />
      ))}
      {several ? (
        <BatchBar
          controller={controller}
          state={state}
          views={views}
          shown={shown}
          onGoTo={(id) => {
            turnTo(cardOf(id));
          }}
          onReadOn={(id) => {
            setUnfolded(true);
            readOn(cardOf(id));
          }}
        />
      ) : (
        <Retry failure={open ? state.failure : null} views={views} onRetry={send} />
      )}
    </div>
  );
}

/** What stands below a single question: why it was not sent, and the way to try again. */
function Retry(props: {
  readonly failure: Failure | null;
  readonly views: readonly InterruptView[];
  readonly onRetry: () => void;
}) {
  const { failure, views, onRetry } = props;
  const line = useRef<HTMLDivElement>(null);
  const ready = views.every((view) => view.phase === "answered");
  useEffect(() => {
    if (failure !== null) line.current?.scrollIntoView({ block: "nearest" });
  }, [failure]);
  return (
    <div className="sayso-sending" ref={line} data-open={failure !== null}>
      <p role="alert" className="sayso-failure">
        {failure !== null && (
          <>
            <strong>Not sent. </strong>
            {failure.message}
          </>
        )}
      </p>
      {failure !== null && ready && (
        <button type="button" className="sayso-button sayso-primary" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}
