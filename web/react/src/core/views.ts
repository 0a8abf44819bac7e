import type { Interrupt, Message, ToolCall } from "@ag-ui/client";
import { asRecord, asText, parseJson, writeJson } from "./json.js";
import { isAnswerable, type MachineState } from "./machine.js";
import type { Answer, Batch, Closed, Problem } from "./types.js";
import { unclearOf } from "./unclear.js";

/** The states of a card; shown as its `data-state`. */
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
  /** When it was asked, by the server's clock (epoch ms), where that is known. */
  readonly askedAt?: number;
  /** When its answer is sent by itself, by the server's clock (epoch ms); until then it is undone. */
  readonly sendAt?: number;
  /** Who had agreed to another answer than this reader gave, and is asked again. */
  readonly withdrawn?: readonly string[];
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
  const requested = state.asked[id] ?? 1;
  const interrupt = state.interrupts.find((item) => item.id === id);
  if (interrupt !== undefined) {
    const answer = state.answers[id] ?? null;
    const problems = state.errors[id] ?? [];
    return {
      interrupt,
      phase: phaseOf(state, id),
      answer,
      problems,
      closed: null,
      asked: requested,
    };
  }
  const held = state.held.find((item) => item.id === id);
  if (held !== undefined) {
    const phase = state.status === "submitting" || state.status === "running" ? "sending" : "open";
    return { interrupt: held, phase, answer: null, problems: [], closed: null, asked: requested };
  }
  const closed = state.closed.find((item) => item.interrupt.id === id);
  if (closed === undefined) return null;
  const { answer } = closed;
  return {
    interrupt: closed.interrupt,
    phase: "closed",
    answer,
    problems: [],
    closed,
    asked: requested,
  };
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
    const call = message.toolCalls?.find((toolCall) => toolCall.id === toolCallId);
    if (call !== undefined) return readCall(call);
  }
  return null;
}

/**
 * The call an interrupt is about, as the server describes it in `metadata.sayso`: with the arguments
 * that run, or ran, which may have been edited since the call was announced. Without them it is taken
 * from the messages; null when neither knows it.
 */
export function callAbout(interrupt: Interrupt, messages: readonly Message[]): CallView | null {
  const { toolCallId } = interrupt;
  if (toolCallId === undefined) return null;
  const details = asRecord(asRecord(interrupt.metadata)?.sayso);
  const name = asText(details?.tool ?? details?.name);
  const args = details?.arguments;
  if (name !== undefined && asRecord(args) !== undefined) {
    return { id: toolCallId, name, args, text: writeJson(args) };
  }
  const call = callOf(messages, toolCallId);
  if (call !== null) return call;
  if (name === undefined) return null;
  return { id: toolCallId, name, args, text: writeJson(args ?? null) };
}

/** The name of the tool or step that an interrupt is about, if it is about one. */
export function subjectOf(interrupt: Interrupt, call: CallView | null): string | null {
  return call?.name ?? unclearOf(interrupt)?.name ?? null;
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
