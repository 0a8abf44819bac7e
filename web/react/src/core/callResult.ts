import { asRecord, asText } from "./json.js";

/** The end of the call that a question was about, or how far it has come, as the server tells it. */
export interface CallResult {
  /** `unknown`: it was begun, and nobody knows whether it happened. */
  readonly status: "running" | "executed" | "failed" | "not_run" | "unknown";
  /** The result, the error or the reason, for people; null for none. */
  readonly text: string | null;
  /** When that was so, in epoch milliseconds; null when it is not known. */
  readonly at: number | null;
  /** How long it ran, in milliseconds; null when nobody measured. */
  readonly ms: number | null;
}

const STATUSES = ["running", "executed", "failed", "not_run", "unknown"] as const;

/** Reads it off an interrupt of the REST interface; null while there is none. */
export function readResult(value: unknown): CallResult | null {
  const input = asRecord(value);
  const status = STATUSES.find((item) => item === input?.status);
  if (input === undefined || status === undefined) return null;
  const at = Date.parse(asText(input.at) ?? "");
  return {
    status,
    text: asText(input.text) ?? null,
    at: Number.isNaN(at) ? null : at,
    ms: typeof input.ms === "number" ? input.ms : null,
  };
}
