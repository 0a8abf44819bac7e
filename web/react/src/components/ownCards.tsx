"use client";

import type { Interrupt } from "@ag-ui/client";
import { createElement, type ComponentType } from "react";
import type { Answer, CallView, InterruptView, Problem } from "../core/index.js";

/** The props of a card of one's own; it draws what stands between title and outcome. */
export interface OwnCardProps {
  readonly interrupt: Interrupt;
  /** The tool call that it is about; `args` of it is undefined where they are no JSON. */
  readonly call: CallView | null;
  /** Complaints of the server or the validator about the last answer. */
  readonly problems: readonly Problem[];
  /** Answers, as `{ approved: true }` or as the question's `responseSchema` says. */
  readonly resolve: (payload?: unknown) => void;
  /** Declines to answer. */
  readonly cancel: () => void;
}

/** Cards of one's own, by the name of the tool that is called, else by the reason of the question. */
export type Cards = Readonly<Record<string, ComponentType<OwnCardProps>>>;

/** The card for a question among them; null where ours is drawn. */
export function ownCard(
  cards: Cards | undefined,
  interrupt: Interrupt,
  call: CallView | null,
): ComponentType<OwnCardProps> | null {
  const key = [call?.name, interrupt.reason].find(
    (name) => name !== undefined && Object.hasOwn(cards ?? {}, name),
  );
  return key === undefined ? null : (cards?.[key] ?? null);
}

/** The body of such a card, with its means to answer. */
export function OwnBody(props: {
  readonly card: ComponentType<OwnCardProps>;
  readonly view: InterruptView;
  readonly call: CallView | null;
  readonly onAnswer: (answer: Answer) => void;
}) {
  const { card, view, call, onAnswer } = props;
  return createElement(card, {
    interrupt: view.interrupt,
    call,
    problems: view.problems,
    resolve: (payload) => {
      onAnswer({ status: "resolved", ...(payload !== undefined && { payload }) });
    },
    cancel: () => {
      onAnswer({ status: "cancelled" });
    },
  });
}
