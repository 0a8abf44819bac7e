import type { Message } from "@ag-ui/client";
import { asRecord, asText } from "./json.js";

/** A settled question as the history tells it. */
export interface Settled {
  readonly interruptId: string;
  readonly reason: string;
  readonly question: string;
  readonly status: "resolved" | "cancelled" | "expired";
  /** The answer in words; empty unless it was resolved. */
  readonly said: string;
  readonly by: string | null;
  /** Milliseconds since the epoch; null when it is not known. */
  readonly at: number | null;
}

const STATUSES = ["resolved", "cancelled", "expired"] as const;

/** Reads it off an activity message of the type `sayso:settled`; null for any other message. */
export function readSettled(message: Message): Settled | null {
  if (message.role !== "activity" || message.activityType !== "sayso:settled") return null;
  const content = asRecord(message.content);
  const status = STATUSES.find((item) => item === content?.status);
  const interruptId = asText(content?.interruptId);
  if (content === undefined || status === undefined || interruptId === undefined) return null;
  const time = Date.parse(asText(content.at) ?? "");
  return {
    interruptId,
    reason: asText(content.reason) ?? "",
    question: asText(content.question) ?? "",
    status,
    said: asText(content.said) ?? "",
    by: asText(content.by) ?? null,
    at: Number.isNaN(time) ? null : time,
  };
}
