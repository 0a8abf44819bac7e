import { expiryOf, formatRemaining, type Interrupt } from "@sayso/react";
import type { InboxItem } from "@sayso/react/inbox";

const LABELS: Readonly<Record<string, string>> = {
  tool_call: "Approval",
  confirmation: "Confirmation",
  input_required: "Input needed",
  "sayso:indeterminate": "Unclear outcome",
  "sayso:decision": "Decision",
  "sayso:breakpoint": "Breakpoint",
};

/** What an interrupt is about, in a word or two. */
export function labelOf(interrupt: Interrupt): string {
  return LABELS[interrupt.reason] ?? interrupt.reason;
}

/** How long ago something was, roughly: `now`, `5 min`, `3 h`, `2 d`. */
export function ageOf(at: number, now: number): string {
  const minutes = Math.floor(Math.max(0, now - at) / 60_000);
  if (minutes < 1) return "now";
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`;
}

/** How much time an interrupt has left; null when it has all the time. */
export function dueOf(
  item: InboxItem,
  now: number,
): { readonly text: string; readonly urgent: boolean } | null {
  const until = expiryOf(item.interrupt);
  if (until === null) return null;
  if (item.lapsed || until <= now) return { text: "out of time", urgent: true };
  const left = until - now;
  // Nobody reads seconds in a list; the card counts them.
  const text = left < 60_000 ? "under a minute" : formatRemaining(left).replace(/ \d\d s$/, "");
  return { text: `${text} left`, urgent: left < 600_000 };
}
