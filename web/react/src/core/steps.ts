/** A phase of the agent's work, as AG-UI steps announce it. */
export interface Step {
  readonly key: string;
  readonly name: string;
  readonly status: "open" | "paused" | "done";
  /** The message that was last when the step began; null is the beginning of the thread. */
  readonly anchor: string | null;
}

export type StepEvent =
  | { readonly type: "started"; readonly name: string; readonly anchor: string | null }
  | { readonly type: "finished"; readonly name: string }
  /** The run ended in a question, so what it closed at the end was only paused. */
  | { readonly type: "interrupted" }
  | { readonly type: "ended" };

/**
 * The steps of a thread after one more event. A run that stops to ask closes its steps and the
 * resumed run starts them again; that is one step to a reader, so it goes on where it was.
 */
export function nextSteps(steps: readonly Step[], event: StepEvent): readonly Step[] {
  switch (event.type) {
    case "started": {
      const paused = findLast(
        steps,
        (step) => step.name === event.name && step.status === "paused",
      );
      if (paused !== undefined) return replace(steps, paused, "open");
      const key = `${event.name}:${steps.length}`;
      return [...steps, { key, name: event.name, status: "open", anchor: event.anchor }];
    }
    case "finished": {
      const open = findLast(steps, (step) => step.name === event.name && step.status === "open");
      return open === undefined ? steps : replace(steps, open, "done");
    }
    case "interrupted": {
      const last = steps.at(-1);
      return last?.status === "done" ? replace(steps, last, "paused") : steps;
    }
    case "ended":
      return steps.some((step) => step.status !== "done")
        ? steps.map((step) => ({ ...step, status: "done" }))
        : steps;
    default:
      return event satisfies never;
  }
}

function replace(steps: readonly Step[], step: Step, status: Step["status"]): readonly Step[] {
  return steps.map((item) => (item === step ? { ...item, status } : item));
}

function findLast(steps: readonly Step[], fits: (step: Step) => boolean): Step | undefined {
  return [...steps].reverse().find(fits);
}
