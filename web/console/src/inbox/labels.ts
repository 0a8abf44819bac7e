import type { Interrupt } from "@sayso/react";
import {
  briefingOf,
  callAbout,
  expiryOf,
  formatRemaining,
  personName,
  withoutSecrets,
  writeJson,
  type InboxItem,
} from "@sayso/react/core";
import { messageOf } from "@sayso/react/components";

/** A question in one line: its own words, or the arguments of its call. */
export function saidOf(interrupt: Interrupt): string {
  const call = callAbout(interrupt, []);
  const briefing = briefingOf(interrupt, call);
  const said = briefing?.headline ?? messageOf(interrupt, call);
  if (said !== null) return said.slice(0, MAX_CHARACTERS);
  if (call === null) return "No message";
  return (briefing?.says ?? brief(call.args)).slice(0, MAX_CHARACTERS);
}

/** An object's members in one line, secrets not shown: `to ada@example.com · subject Your refund`. */
export function brief(stored: unknown): string {
  const value = withoutSecrets(stored);
  if (typeof value !== "object" || value === null)
    return value === undefined ? "" : writeJson(value);
  return Object.entries(value)
    .map(([name, one]) => `${name} ${typeof one === "string" ? one : writeJson(one)}`)
    .join(" · ");
}

const MAX_CHARACTERS = 200;

/** How many have agreed of those who have to, and who: `1 of 2 approved: lea`. */
export function agreementOf({ interrupt, agreed }: InboxItem): string {
  const needed = member(member(interrupt.metadata?.sayso, "approvers"), "of");
  const counts = typeof needed === "number" ? [needed] : Object.values(needed ?? {});
  const all = counts.reduce<number>((sum, count) => sum + Number(count), 0);
  return `${agreed.length} of ${Math.max(all, agreed.length)} approved: ${agreed.map(personName).join(", ")}`;
}

function member(value: unknown, name: string): unknown {
  return (value as Readonly<Record<string, unknown>> | null | undefined)?.[name];
}

/** How many other questions of its conversation have no answer yet. */
export function unansweredBeside(item: InboxItem, items: readonly InboxItem[]): number {
  return items.filter(
    (other) => other.threadId === item.threadId && other !== item && other.held === null,
  ).length;
}

/** How long ago something was, roughly: `just now`, `5 min ago`, `3 h ago`, `2 d ago`. */
export function ageOf(index: number, now: number): string {
  const minutes = Math.floor(Math.max(0, now - index) / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ago` : `${Math.floor(hours / 24)} d ago`;
}

/** How much time an interrupt has left; null when it has all the time. */
export function dueOf(
  item: InboxItem,
  now: number,
): { readonly text: string; readonly urgent: boolean } | null {
  const until = expiryOf(item.interrupt);
  if (until === null) return null;
  if (item.lapsed || until <= now) return { text: "expired", urgent: true };
  const left = Math.min(until - now, until - item.createdAt);
  // Nobody reads seconds in a list; the card counts them.
  const text = left < 60_000 ? "under a minute" : formatRemaining(left).replace(/ \d\d s$/, "");
  return { text: `${text} left`, urgent: left < 600_000 };
}
