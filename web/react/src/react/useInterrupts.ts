"use client";

import type { Interrupt, RunAgentResult } from "@ag-ui/client";
import { useMemo, useSyncExternalStore } from "react";
import type { MachineState } from "../core/index.js";
import { useController } from "./context.js";

/** Everything about the open questions of one agent's thread, without any rendering. */
export interface Interrupts extends Pick<
  MachineState,
  "status" | "answers" | "errors" | "failure" | "closed" | "expired"
> {
  /** All open interrupts. */
  readonly interrupts: readonly Interrupt[];
  /** Answers one (default: the first); all are sent together once each has its answer. */
  readonly resolve: ResolveFn;
  /** Declines to answer one (default: the first). */
  readonly cancel: CancelFn;
  /** Sends the same entries again after a failure. */
  readonly submit: () => Promise<RunAgentResult | undefined>;
}

export type ResolveFn = (
  payload?: unknown,
  interruptId?: string,
) => Promise<RunAgentResult | undefined>;

export type CancelFn = (interruptId?: string) => Promise<RunAgentResult | undefined>;

/** The open questions of an agent's thread and the means to answer them. */
export function useInterrupts(options: { readonly agentId?: string } = {}): Interrupts {
  const controller = useController(options.agentId);
  const { subscribe, getSnapshot } = controller;
  const state = useSyncExternalStore(subscribe, getSnapshot, getSnapshot);
  const acts = useMemo(
    () => ({
      resolve: controller.resolve.bind(controller),
      cancel: controller.cancel.bind(controller),
      submit: controller.submit.bind(controller),
    }),
    [controller],
  );
  return useMemo(() => {
    const { interrupts, status, answers, errors, failure, closed, expired } = state;
    return { interrupts, status, answers, errors, failure, closed, expired, ...acts };
  }, [state, acts]);
}
