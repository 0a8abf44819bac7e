import type { Interrupt } from "@ag-ui/client";
import { withDigits } from "./exact.js";
import { asRecord, asText } from "./json.js";
import type { Answer } from "./types.js";

/** An interrupt with all digits of its numbers, as its server says them beside what was rounded. */
export function withAllDigits(interrupt: Interrupt): Interrupt {
  return withDigits(interrupt, asRecord(interrupt.metadata?.sayso)?.exact);
}

/** An interrupt out of anything that looks like one; null without id and reason (A3, IN-14). */
export function readInterrupt(value: unknown): Interrupt | null {
  const view = asRecord(value);
  const [id, reason] = [asText(view?.id), asText(view?.reason)];
  if (view === undefined || id === undefined || reason === undefined) return null;
  const [message, toolCallId] = [asText(view.message), asText(view.toolCallId)];
  const [expiresAt, subagentRunId] = [asText(view.expiresAt), asText(view.subagentRunId)];
  const [responseSchema, metadata] = [asRecord(view.responseSchema), asRecord(view.metadata)];
  return withAllDigits({
    id,
    reason,
    ...(message !== undefined && { message }),
    ...(toolCallId !== undefined && { toolCallId }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(subagentRunId !== undefined && { subagentRunId }),
    ...(responseSchema !== undefined && { responseSchema: { ...responseSchema } }),
    ...(metadata !== undefined && { metadata: { ...metadata } }),
  });
}

/** An answer as it is stored or listed; null for anything else. */
export function readAnswer(input: Readonly<Record<string, unknown>> | undefined): Answer | null {
  if (input?.status === "cancelled") return { status: "cancelled" };
  if (input?.status !== "resolved") return null;
  return "payload" in input
    ? { status: "resolved", payload: input.payload }
    : { status: "resolved" };
}
