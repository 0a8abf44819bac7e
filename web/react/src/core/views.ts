import type { Interrupt, Message, ToolCall } from "@ag-ui/client";
import { asRecord, asText, parseJson } from "./json.js";
import { isAnswerable } from "./machine.js";
import { type MachineState } from "./machineState.js";
import type { Answer, Batch, Closed, Problem } from "./types.js";

/** What a card can be in; shown as its `data-state`. */
export type Phase = "open" | "answered" | "sending" | "expired" | "closed";

/** One interrupt with everything a card needs to know about it. */
export interface InterruptView {
  readonly interrupt: Interrupt;
  readonly phase: Phase;
  readonly answer: Answer | null;
  readonly problems: readonly Problem[];
  readonly closed: Closed | null;
  /** Grows when the server asks the same question again; a form starts afresh then. */
  readonly asked: number;
}

/** The interrupts of one batch, open and closed, in the order in which they were asked. */
export function viewsOf(state: MachineState, batch: Batch): readonly InterruptView[] {
  return batch.ids.flatMap((id) => {
    const view = viewOf(state, id);
    return view === null ? [] : [view];
  });
}

/** One interrupt as it stands; null when the thread never had it. */
export function viewOf(state: MachineState, id: string): InterruptView | null {
  const asked = state.asked[id] ?? 1;
  const interrupt = state.interrupts.find((one) => one.id === id);
  if (interrupt !== undefined) {
    const answer = state.answers[id] ?? null;
    const problems = state.errors[id] ?? [];
    return { interrupt, phase: phaseOf(state, id), answer, problems, closed: null, asked };
  }
  const closed = state.closed.find((one) => one.interrupt.id === id);
  if (closed === undefined) return null;
  const { answer } = closed;
  return { interrupt: closed.interrupt, phase: "closed", answer, problems: [], closed, asked };
}

function phaseOf(state: MachineState, id: string): Phase {
  if (!isAnswerable(state)) return "sending";
  const answer = state.answers[id];
  if (state.expired.includes(id) && answer?.status !== "cancelled") return "expired";
  if (answer === undefined || (state.errors[id] ?? []).length > 0) return "open";
  return "answered";
}

/** A tool call as a person can read it; `args` is undefined when the text is not JSON (CL-18). */
export interface CallView {
  readonly id: string;
  readonly name: string;
  readonly args: unknown;
  readonly text: string;
}

/** The call an interrupt is bound to, found by its id in the messages. */
export function callOf(messages: readonly Message[], toolCallId: string): CallView | null {
  for (const message of messages) {
    if (message.role !== "assistant") continue;
    const call = message.toolCalls?.find((one) => one.id === toolCallId);
    if (call !== undefined) return readCall(call);
  }
  return null;
}

/**
 * The call an interrupt is about: from the messages, or, where the client does not have it, as the
 * server describes it in `metadata.sayso`. Null when neither knows it.
 */
export function callAbout(interrupt: Interrupt, messages: readonly Message[]): CallView | null {
  const { toolCallId } = interrupt;
  if (toolCallId === undefined) return null;
  const found = callOf(messages, toolCallId);
  if (found !== null) return found;
  const told = asRecord(asRecord(interrupt.metadata)?.sayso);
  const name = asText(told?.tool);
  if (name === undefined) return null;
  const args = told?.arguments;
  return { id: toolCallId, name, args, text: JSON.stringify(args ?? null) };
}

/** A tool call with its arguments parsed. */
export function readCall(call: ToolCall): CallView {
  const text = call.function.arguments;
  return { id: call.id, name: call.function.name, args: parseJson(text), text };
}

/** The arguments as an object to prefill a form with; anything else gives an empty one. */
export function argsAsObject(call: CallView | null): Readonly<Record<string, unknown>> {
  return asRecord(call?.args) ?? {};
}
