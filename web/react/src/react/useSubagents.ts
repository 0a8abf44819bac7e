"use client";

import { useSyncExternalStore } from "react";
import { subagentsOf, type SubagentInterrupts } from "../core/index.js";
import { useController } from "./context.js";

/** An agent's open questions by the subagent that raised them, with how each of those stands. */
export function useSubagents(
  options: { readonly agentId?: string } = {},
): readonly SubagentInterrupts[] {
  const { subscribe, getSnapshot } = subagentsOf(useController(options.agentId));
  return useSyncExternalStore(subscribe, getSnapshot, getSnapshot);
}
