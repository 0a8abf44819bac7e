import { useSyncExternalStore } from "react";
import { useController } from "../react/context.js";
import { subagentsOf } from "./book.js";
import type { InterruptsOfOne } from "./groups.js";

/** An agent's open questions by the subagent that raised them, with how each of those stands. */
export function useSubagents(
  options: { readonly agentId?: string } = {},
): readonly InterruptsOfOne[] {
  const { subscribe, getSnapshot } = subagentsOf(useController(options.agentId));
  return useSyncExternalStore(subscribe, getSnapshot, getSnapshot);
}
