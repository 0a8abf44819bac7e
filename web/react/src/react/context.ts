"use client";

import type { AbstractAgent } from "@ag-ui/client";
import { createContext, useContext, type ReactElement } from "react";
import { controllerOf, type InterruptController } from "../core/index.js";

/** The elements that hooks put into the chat, by the hook that put them there. */
export class SlotStore {
  #elements: ReadonlyMap<string, ReactElement> = new Map();
  readonly #listeners = new Set<() => void>();

  readonly getSnapshot = (): ReadonlyMap<string, ReactElement> => this.#elements;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  };

  put(key: string, element: ReactElement | null): void {
    if ((this.#elements.get(key) ?? null) === element) return;
    const next = new Map(this.#elements);
    if (element === null) next.delete(key);
    else next.set(key, element);
    this.#elements = next;
    for (const listener of this.#listeners) listener();
  }
}

/** The provider's value, for the hooks below it. */
export interface SaysoContext {
  readonly agents: Readonly<Record<string, AbstractAgent>>;
  readonly defaultAgentId: string | undefined;
  readonly slot: SlotStore;
}

export const Context = createContext<SaysoContext | null>(null);

/** The provider's value; a hook outside a provider says so. */
export function useSayso(): SaysoContext {
  const context = useContext(Context);
  if (context === null) throw new Error("Put a <SaysoProvider> above the components that use it.");
  return context;
}

/** The controller of the agent with this id, or of the only or default one. */
export function useController(agentId?: string): InterruptController {
  const { agents, defaultAgentId } = useSayso();
  const names = Object.keys(agents);
  const id = agentId ?? defaultAgentId ?? (names.length === 1 ? names[0] : undefined);
  const agent = id === undefined ? undefined : agents[id];
  if (agent === undefined) {
    const text = names.join(", ") || "none";
    throw new Error(
      id === undefined
        ? `Several agents are provided (${text}): pass agentId or set defaultAgentId.`
        : `No agent ${JSON.stringify(id)} is provided (${text}).`,
    );
  }
  return controllerOf(agent);
}
