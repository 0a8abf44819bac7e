"use client";

import type { AbstractAgent } from "@ag-ui/client";
import {
  Fragment,
  useInsertionEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
  type ReactNode,
} from "react";
import { controllerOf, type LiveOptions } from "../core/index.js";
import { Context, SlotStore, useSayso } from "./context.js";

export interface SaysoProviderProps {
  /** The agents that hooks below may use, by id. */
  readonly agents: Readonly<Record<string, AbstractAgent>>;
  /** Which one is meant when a hook names none; not needed when there is only one. */
  readonly defaultAgentId?: string;
  /** Applied to each of these agents, now and whenever they change; taken away, defaults apply. */
  readonly options?: LiveOptions;
  readonly children?: ReactNode;
}

/** Makes agents known to the hooks below it. */
export function SaysoProvider({ agents, defaultAgentId, options, children }: SaysoProviderProps) {
  const [slot] = useState(() => new SlotStore());
  const value = useMemo(() => ({ agents, defaultAgentId, slot }), [agents, defaultAgentId, slot]);
  // Before any effect of the hooks below, which begin to talk to the server.
  const applied = useRef(false);
  useInsertionEffect(() => {
    // A provider that never had options leaves each controller those that it was made with.
    if (options === undefined && !applied.current) return;
    applied.current = options !== undefined;
    for (const agent of Object.values(agents)) controllerOf(agent).configure(options ?? {});
  }, [agents, options]);
  return <Context.Provider value={value}>{children}</Context.Provider>;
}

/** Where hooks with `renderInChat` show what they render. Put it into the chat, after the messages. */
export function InterruptSlot() {
  const { slot } = useSayso();
  const elements = useSyncExternalStore(slot.subscribe, slot.getSnapshot, slot.getSnapshot);
  return [...elements].map(([key, element]) => <Fragment key={key}>{element}</Fragment>);
}
