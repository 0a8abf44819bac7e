import type { AgentSubscriber } from "@ag-ui/client";
import type { InterruptController } from "../core/index.js";
import {
  askersOf,
  groupsOf,
  nextSubagents,
  type InterruptsOfOne,
  type Subagent,
  type SubagentAction,
} from "./groups.js";

/** The subagents of one agent's thread with their open questions, followed while anybody listens. */
export class SubagentBook {
  readonly #controller: InterruptController;
  readonly #listeners = new Set<() => void>();
  #subagents: readonly Subagent[] = [];
  #groups: readonly InterruptsOfOne[];
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
  readonly getSnapshot = (): readonly InterruptsOfOne[] => this.#groups;

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

const BOOKS = new WeakMap<InterruptController, SubagentBook>();

/** The one book of a controller. */
export function subagentsOf(controller: InterruptController): SubagentBook {
  const known = BOOKS.get(controller);
  if (known !== undefined) return known;
  const made = new SubagentBook(controller);
  BOOKS.set(controller, made);
  return made;
}
