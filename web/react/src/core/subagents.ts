import type { AgentSubscriber, Interrupt } from "@ag-ui/client";
import type { InterruptController } from "./controller.js";

/** One invocation of a subagent, as far as the server told of it. */
export interface Subagent {
  /** Its `subagentRunId`: the same when it goes on in a later run (SA-06). */
  readonly id: string;
  /** Null when only its questions are known, as after a reload. */
  readonly name: string | null;
  /** Its task, where the server says it; tells two of one name apart. */
  readonly description: string | null;
  readonly parentId: string | null;
  readonly status: "running" | "waiting" | "finished" | "failed" | "stopped";
}

/** Facts about subagents, as they become known. */
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
      return all.map((subagent) =>
        subagent.id === action.id ? { ...subagent, status: BECOMES[action.type] } : subagent,
      );
    case "asked":
      return action.ids.reduce<readonly Subagent[]>((list, id) => {
        const subagent = list.find((item) => item.id === id);
        if (subagent !== undefined) return list;
        return put(list, { ...UNTOLD, id });
      }, all);
    case "cancelled":
      return all.map((subagent) =>
        subagent.status === "running" || subagent.status === "waiting"
          ? { ...subagent, status: "stopped" }
          : subagent,
      );
    case "reset":
      return all.length === 0 ? all : [];
    default:
      return action satisfies never;
  }
}

/** The open questions of one subagent, or of the agent itself (`subagent` is null then). */
export interface SubagentInterrupts {
  readonly subagent: Subagent | null;
  readonly interrupts: readonly Interrupt[];
}

/** Open questions by who raised them (CL-17): the agent's own first, then each known subagent's. */
export function groupsOf(
  interrupts: readonly Interrupt[],
  subagents: readonly Subagent[],
): readonly SubagentInterrupts[] {
  const nextSubagent = nextSubagents(subagents, { type: "asked", ids: askersOf(interrupts) });
  const own = interrupts.filter((interrupt) => askerOf(interrupt) === null);
  const groups = nextSubagent.map((subagent) => ({
    subagent,
    interrupts: interrupts.filter((interrupt) => askerOf(interrupt) === subagent.id),
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
  if (!all.some((item) => item.id === subagent.id)) return [...all, subagent];
  return all.map((item) => (item.id === subagent.id ? subagent : item));
}

/** The subagents of one agent's thread with their open questions, followed while anybody listens. */
export class SubagentStore {
  readonly #controller: InterruptController;
  readonly #listeners = new Set<() => void>();
  #subagents: readonly Subagent[] = [];
  #groups: readonly SubagentInterrupts[];
  #threadId: string;
  #interrupts: unknown;
  #close: (() => void) | undefined;

  constructor(controller: InterruptController) {
    this.#controller = controller;
    const { interrupts, threadId } = controller.getSnapshot();
    this.#groups = groupsOf(interrupts, []);
    this.#interrupts = interrupts;
    this.#threadId = threadId;
  }

  /** The groups as they stand; the same list until something changes. */
  readonly getSnapshot = (): readonly SubagentInterrupts[] => this.#groups;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    this.#close ??= this.#open();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#close?.();
      this.#close = undefined;
    };
  };

  #open(): () => void {
    const { agent, runs, subscribe } = this.#controller;
    const subscription = agent.subscribe(this.#subscriber());
    const stops = [
      subscribe(() => {
        this.#look();
      }),
      runs.listen({
        onStarted: (origin) => {
          if (origin === "run") this.#apply({ type: "reset" });
        },
        onOutcome: (_, end) => {
          if (end.kind === "cancelled") this.#apply({ type: "cancelled" });
        },
      }),
    ];
    this.#look();
    return () => {
      subscription.unsubscribe();
      for (const stop of stops) stop();
    };
  }

  #subscriber(): AgentSubscriber {
    return {
      onSubagentStartedEvent: ({ event }) => {
        const { subagentRunId: id, name, description = null } = event;
        const parentId = event.parentSubagentRunId ?? null;
        this.#apply({ type: "started", id, name, description, parentId });
      },
      onSubagentFinishedEvent: ({ event }) => {
        const type = event.outcome?.type === "suspended" ? "suspended" : "finished";
        this.#apply({ type, id: event.subagentRunId });
      },
      onSubagentErrorEvent: ({ event }) => {
        this.#apply({ type: "failed", id: event.subagentRunId });
      },
    };
  }

  #look(): void {
    const { interrupts, threadId } = this.#controller.getSnapshot();
    if (threadId !== this.#threadId) {
      this.#threadId = threadId;
      this.#subagents = [];
    } else if (interrupts === this.#interrupts) return;
    this.#apply({ type: "asked", ids: askersOf(interrupts) });
  }

  #apply(action: SubagentAction): void {
    const { interrupts } = this.#controller.getSnapshot();
    const next = nextSubagents(this.#subagents, action);
    if (next === this.#subagents && interrupts === this.#interrupts) return;
    this.#subagents = next;
    this.#interrupts = interrupts;
    this.#groups = groupsOf(interrupts, next);
    for (const listener of this.#listeners) listener();
  }
}

const STORES = new WeakMap<InterruptController, SubagentStore>();

/** The one subagent store of a controller. */
export function subagentsOf(controller: InterruptController): SubagentStore {
  const subagentStore = STORES.get(controller);
  if (subagentStore !== undefined) return subagentStore;
  const made = new SubagentStore(controller);
  STORES.set(controller, made);
  return made;
}
