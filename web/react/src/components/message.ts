import { asRecord } from "../core/json.js";
import { elsewhereOf, unclearOf, type CallView, type Interrupt } from "../core/index.js";

/**
 * The question in words. The server's own sentences for a gated call only repeat its briefing and
 * its arguments, for clients that show nothing else; where those are shown, they are left out. So is
 * where to look, at the end of the one about an unclear effect, and the address of another place.
 */
export function messageOf(interrupt: Interrupt, call: CallView | null): string | null {
  const { message, metadata } = interrupt;
  if (message === undefined) return null;
  const there = elsewhereOf(interrupt);
  if (there !== null) return there.text ?? message;
  const look = unclearOf(interrupt)?.look ?? "";
  if (look !== "" && message.endsWith(look)) return message.slice(0, -look.length).trimEnd();
  const details = asRecord(asRecord(metadata)?.sayso);
  const ours = call?.args !== undefined && details?.tool === call.name;
  return ours && interrupt.reason === "tool_call" ? null : message;
}
