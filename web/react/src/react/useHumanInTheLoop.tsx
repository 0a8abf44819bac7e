"use client";

import { Fragment, useEffect, useSyncExternalStore, type ReactElement } from "react";
import type { FrontendCall, FrontendTool } from "../core/index.js";
import { useController } from "./context.js";
import { useInSlot, type Placed } from "./useInSlot.js";

/** The arguments of `render` for each call of the tool. */
export interface HumanInTheLoopProps<TArgs> extends Pick<FrontendCall, "name" | "status"> {
  readonly toolCallId: string;
  /** The agent's arguments; partial while `status` is `inProgress`. */
  readonly args: Partial<TArgs>;
  /**
   * Gives the call its result and lets the agent go on; there while `status` is `executing`.
   * Resolves with whether the agent went on with it; it never rejects.
   */
  readonly respond: ((result: unknown) => Promise<boolean>) | undefined;
  /** The result as text, once there is one. */
  readonly result: string | undefined;
}

export interface UseHumanInTheLoopConfig<
  TArgs,
  TInChat extends boolean | undefined,
> extends FrontendTool {
  readonly render: (props: HumanInTheLoopProps<TArgs>) => ReactElement;
  readonly agentId?: string;
  /** True (default): shown by `<InterruptSlot>`. False: the hook returns the element. */
  readonly renderInChat?: TInChat;
}

/**
 * Offers the agent a tool that a person answers here: its calls are drawn with `render`, and what
 * is given to `respond` is the call's result. A call that was not answered is there again after a
 * reload, from an agent that can restore its thread.
 */
export function useHumanInTheLoop<
  TArgs = Record<string, unknown>,
  TInChat extends boolean | undefined = undefined,
>(config: UseHumanInTheLoopConfig<TArgs, TInChat>): Placed<TInChat> {
  const { name, description, parameters, render, agentId, renderInChat } = config;
  const { tools } = useController(agentId);
  const calls = useSyncExternalStore(tools.subscribe, tools.getSnapshot, tools.getSnapshot);
  const schema = parameters === undefined ? undefined : JSON.stringify(parameters);
  useEffect(
    () =>
      tools.offer({
        name,
        ...(description !== undefined && { description }),
        ...(schema !== undefined && { parameters: JSON.parse(schema) as Record<string, unknown> }),
      }),
    [tools, name, description, schema],
  );
  const ours = calls.filter((call) => call.name === name);
  const respond = (id: string) => (result: unknown) => tools.respond(id, result);
  const element =
    ours.length === 0 ? null : (
      <>
        {ours.map(({ id, args, status, result }) => (
          <Fragment key={id}>
            {render({
              name,
              toolCallId: id,
              status,
              args: isArguments(args) ? (args as Partial<TArgs>) : {},
              respond: status === "executing" ? respond(id) : undefined,
              result: result ?? undefined,
            })}
          </Fragment>
        ))}
      </>
    );
  return useInSlot(element, renderInChat);
}

function isArguments(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
