"use client";

import type { Interrupt } from "@ag-ui/client";
import { useEffect, useRef, useState, type ReactElement } from "react";
import { LEGACY_EVENT } from "../core/legacy.js";
import { useController } from "./context.js";
import { useInSlot, type Placed } from "./useInSlot.js";
import { useInterrupts, type CancelFn, type Interrupts, type ResolveFn } from "./useInterrupts.js";

/* The value of an event is up to the server that asks; code written for it narrows it by itself. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- as the hook it stands in for has it
type Value = any;

/**
 * The question in the form older code reads: `value` is the interrupt, or, from a server that asks
 * by a custom event alone, what came with that event (LG-03).
 */
export interface InterruptEvent<TValue = Value> {
  readonly name: string;
  readonly value: TValue;
}

/** The arguments of `handler`. */
export interface InterruptHandlerProps<TValue = Value> {
  readonly event: InterruptEvent<TValue>;
  readonly interrupt: Interrupt;
  readonly interrupts: readonly Interrupt[];
  readonly resolve: ResolveFn;
  readonly cancel: CancelFn;
}

/** The arguments of `render`: the above, what `handler` returned, and how the answers stand. */
export interface InterruptRenderProps<TResult, TValue = Value>
  extends
    InterruptHandlerProps<TValue>,
    Pick<Interrupts, "answers" | "errors" | "status" | "failure" | "submit"> {
  /** The result of `handler` for this interrupt; null before, without one, and when it threw. */
  readonly result: TResult | null;
}

export interface UseInterruptConfig<TResult, TInChat extends boolean | undefined, TValue = Value> {
  readonly render: (props: InterruptRenderProps<Awaited<TResult>, TValue>) => ReactElement;
  /** Called once per interrupt id, before an answer is given. */
  readonly handler?: (props: InterruptHandlerProps<TValue>) => TResult;
  /** Which interrupts this hook shows; all when left out. One that throws shows nothing. */
  readonly enabled?: (event: InterruptEvent<TValue>) => boolean;
  readonly agentId?: string;
  /** True (default): shown by `<InterruptSlot>`. False: the hook returns the element. */
  readonly renderInChat?: TInChat;
}

/** See `Placed`. */
export type UseInterruptReturn<TInChat extends boolean | undefined> = Placed<TInChat>;

/** Shows the open questions of an agent's thread with `render` and sends what it resolves. */
export function useInterrupt<
  TResult = null,
  TInChat extends boolean | undefined = undefined,
  TValue = Value,
>(config: UseInterruptConfig<TResult, TInChat, TValue>): UseInterruptReturn<TInChat> {
  const { agentId, enabled, handler, render, renderInChat } = config;
  const controller = useController(agentId);
  const toEvent = (item: Interrupt): InterruptEvent<TValue> => ({
    name: LEGACY_EVENT,
    value: (controller.legacyOf(item.id)?.value ?? item) as TValue,
  });
  const all = useInterrupts(agentId === undefined ? {} : { agentId });
  const { resolve, cancel, submit, answers, errors, status, failure } = all;
  const interrupts = all.interrupts.filter((item) => isEnabled(enabled, toEvent(item)));
  const interrupt = interrupts[0];
  const [result, setResult] = useState<{ id: string; value: Awaited<TResult> } | null>(null);
  const handled = useRef(new Set<string>());

  const props: InterruptHandlerProps<TValue> | null =
    interrupt === undefined
      ? null
      : {
          event: toEvent(interrupt),
          interrupt,
          interrupts,
          resolve: (payload, id) => resolve(payload, id ?? interrupt.id),
          cancel: (id) => cancel(id ?? interrupt.id),
        };

  useEffect(() => {
    if (props === null || handler === undefined || handled.current.has(props.interrupt.id)) return;
    const { id } = props.interrupt;
    handled.current.add(id);
    void (async () => {
      try {
        setResult({ id, value: await handler(props) });
      } catch (error) {
        reportError(error);
      }
    })();
  });

  const value = result !== null && result.id === interrupt?.id ? result.value : null;
  const element =
    props === null
      ? null
      : render({ ...props, result: value, answers, errors, status, failure, submit });

  return useInSlot(element, renderInChat);
}

function isEnabled<TValue>(
  enabled: ((event: InterruptEvent<TValue>) => boolean) | undefined,
  event: InterruptEvent<TValue>,
): boolean {
  if (enabled === undefined) return true;
  try {
    return enabled(event);
  } catch (error) {
    queueMicrotask(() => {
      reportError(error);
    });
    return false;
  }
}
