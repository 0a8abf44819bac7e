import type { Interrupt } from "@ag-ui/client";

/** One invocation of a subagent, as far as the server told of it. */
export interface Subagent {
  /** Its `subagentRunId`: the same when it goes on in a later run (SA-06). */
  readonly id: string;
  /** Null when only its questions are known, as after a reload. */
  readonly name: string | null;
  /** What it was set to do, where the server says it; tells two of one name apart. */
  readonly description: string | null;
  readonly parentId: string | null;
  readonly status: "running" | "waiting" | "finished" | "failed" | "stopped";
}

/** What becomes known about subagents. */
export type SubagentAction =
  | {
      readonly type: "started";
      readonly id: string;
      readonly name: string;
      readonly description: string | null;
      readonly parentId: string | null;
    }
  | { readonly type: "suspended" | "finished" | "failed"; readonly id: string }
  /** Questions are open that these raised. */
  | { readonly type: "asked"; readonly ids: readonly string[] }
  /** The whole turn was cancelled. */
  | { readonly type: "cancelled" }
  /** Another turn or thread begins. */
  | { readonly type: "reset" };

const UNTOLD = { name: null, description: null, parentId: null, status: "waiting" } as const;
const BECOMES = { suspended: "waiting", finished: "finished", failed: "failed" } as const;

/** The next list, in the order in which they were first heard of; the same one if nothing changes. */
export function nextSubagents(
  all: readonly Subagent[],
  action: SubagentAction,
): readonly Subagent[] {
  switch (action.type) {
    case "started": {
      const { id, name, description, parentId } = action;
      return put(all, { id, name, description, parentId, status: "running" });
    }
    case "suspended":
    case "finished":
    case "failed":
      return all.map((one) =>
        one.id === action.id ? { ...one, status: BECOMES[action.type] } : one,
      );
    case "asked":
      return action.ids.reduce<readonly Subagent[]>((list, id) => {
        const known = list.find((one) => one.id === id);
        if (known !== undefined) return list;
        return put(list, { ...UNTOLD, id });
      }, all);
    case "cancelled":
      return all.map((one) =>
        one.status === "running" || one.status === "waiting" ? { ...one, status: "stopped" } : one,
      );
    case "reset":
      return all.length === 0 ? all : [];
    default:
      return action satisfies never;
  }
}

/** The open questions of one subagent, or of the agent itself (`subagent` is null then). */
export interface InterruptsOfOne {
  readonly subagent: Subagent | null;
  readonly interrupts: readonly Interrupt[];
}

/** Open questions by who raised them (CL-17): the agent's own first, then each known subagent's. */
export function groupsOf(
  interrupts: readonly Interrupt[],
  subagents: readonly Subagent[],
): readonly InterruptsOfOne[] {
  const known = nextSubagents(subagents, { type: "asked", ids: askersOf(interrupts) });
  const own = interrupts.filter((one) => askerOf(one) === null);
  const groups = known.map((subagent) => ({
    subagent,
    interrupts: interrupts.filter((one) => askerOf(one) === subagent.id),
  }));
  return own.length === 0 ? groups : [{ subagent: null, interrupts: own }, ...groups];
}

/** The subagents that have open questions, each once. */
export function askersOf(interrupts: readonly Interrupt[]): readonly string[] {
  return [...new Set(interrupts.map(askerOf))].filter((id) => id !== null);
}

function askerOf({ subagentRunId }: Interrupt): string | null {
  return subagentRunId ?? null;
}

function put(all: readonly Subagent[], subagent: Subagent): readonly Subagent[] {
  if (!all.some((one) => one.id === subagent.id)) return [...all, subagent];
  return all.map((one) => (one.id === subagent.id ? subagent : one));
}
