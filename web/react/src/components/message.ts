import { asRecord } from "../core/json.js";
import type { CallView, Interrupt } from "../core/index.js";

/**
 * What is asked, in words. The server's own sentence for a gated call only repeats the arguments,
 * for clients that show nothing else; where they stand below it in full, it is left out.
 */
export function messageOf(interrupt: Interrupt, call: CallView | null): string | null {
  const { message, metadata } = interrupt;
  if (message === undefined) return null;
  const told = asRecord(asRecord(metadata)?.sayso);
  const ours = call?.args !== undefined && told?.tool === call.name;
  const repeats = message.startsWith(`Approve ${call?.name ?? ""}(`) && message.endsWith(")?");
  return ours && repeats ? null : message;
}
