import type { Interrupt } from "@ag-ui/client";
import { asRecord, asText } from "./json.js";
import type { Answer } from "./types.js";

/** An interrupt out of anything that looks like one; null without id and reason (A3, IN-14). */
export function readInterrupt(value: unknown): Interrupt | null {
  const view = asRecord(value);
  const [id, reason] = [asText(view?.id), asText(view?.reason)];
  if (view === undefined || id === undefined || reason === undefined) return null;
  const [message, toolCallId] = [asText(view.message), asText(view.toolCallId)];
  const [expiresAt, subagentRunId] = [asText(view.expiresAt), asText(view.subagentRunId)];
  const [responseSchema, metadata] = [asRecord(view.responseSchema), asRecord(view.metadata)];
  return {
    id,
    reason,
    ...(message !== undefined && { message }),
    ...(toolCallId !== undefined && { toolCallId }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(subagentRunId !== undefined && { subagentRunId }),
    ...(responseSchema !== undefined && { responseSchema: { ...responseSchema } }),
    ...(metadata !== undefined && { metadata: { ...metadata } }),
  };
}

/** An answer as it is stored or listed; null for anything else. */
export function readAnswer(given: Readonly<Record<string, unknown>> | undefined): Answer | null {
  if (given?.status === "cancelled") return { status: "cancelled" };
  if (given?.status !== "resolved") return null;
  return "payload" in given
    ? { status: "resolved", payload: given.payload }
    : { status: "resolved" };
}
