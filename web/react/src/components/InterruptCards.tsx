"use client";

import type { ReactNode } from "react";
import { viewsOf, type InterruptView } from "../core/index.js";
import { useController, useThread } from "../react/index.js";
import type { Cards } from "./ownCards.js";
import { InterruptGroup } from "./InterruptGroup.js";

export interface InterruptCardsProps {
  /** Which of the provider's agents; not needed when there is only one. */
  readonly agentId?: string;
  /** Cards of one's own, by the name of the tool, or by reason. */
  readonly cards?: Cards;
  /** Stands above each card. */
  readonly above?: (view: InterruptView) => ReactNode;
}

/**
 * Everything that an agent of the provider waits for. Its thread is restored and followed while this
 * is mounted. What was settled last stays, so that its outcome can be read, until the next question.
 */
export function InterruptCards({ agentId, cards, above }: InterruptCardsProps) {
  const of = agentId === undefined ? {} : { agentId };
  const controller = useController(agentId);
  const { messages } = useThread(of);
  const state = controller.getSnapshot();
  const open = state.batches.filter((batch) =>
    viewsOf(state, batch).some((view) => view.closed === null),
  );
  const shown = open.length > 0 ? open : state.batches.slice(-1);
  return shown.map((batch) => (
    <InterruptGroup
      key={batch.id}
      controller={controller}
      batch={batch}
      messages={messages}
      {...(cards !== undefined && { cards })}
      {...(above !== undefined && { above })}
    />
  ));
}
