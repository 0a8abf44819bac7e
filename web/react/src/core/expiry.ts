import type { Interrupt } from "@ag-ui/client";

/**
 * When an interrupt can no longer be answered, in epoch milliseconds; null means never. A text that
 * is not a date never expires, as the reference client has it (EX-01).
 */
export function expiryOf(interrupt: Interrupt): number | null {
  if (interrupt.expiresAt === undefined) return null;
  const time = Date.parse(interrupt.expiresAt);
  return Number.isNaN(time) ? null : time;
}

/** True if an interrupt is past answering; the last instant is already too late (EX-01). */
export function isExpired(interrupt: Interrupt, now: number): boolean {
  const expiry = expiryOf(interrupt);
  return expiry !== null && expiry <= now;
}

/** Milliseconds until the next of these interrupts expires; null when none will. */
export function nextExpiry(interrupts: readonly Interrupt[], now: number): number | null {
  const ahead = interrupts
    .map(expiryOf)
    .filter((index): index is number => index !== null && index > now)
    .map((index) => index - now);
  return ahead.length === 0 ? null : Math.min(...ahead);
}

/** A duration for people: `2 d 4 h`, `3 h 20 min`, `4 min 05 s`, `9 s`. Negative counts as zero. */
export function formatRemaining(milliseconds: number): string {
  const seconds = Math.max(0, Math.ceil(milliseconds / 1000));
  const days = Math.floor(seconds / 86_400);
  const hours = Math.floor((seconds % 86_400) / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  const rest = seconds % 60;
  if (days > 0) return `${days} d ${hours} h`;
  if (hours > 0) return `${hours} h ${minutes} min`;
  if (minutes > 0) return `${minutes} min ${String(rest).padStart(2, "0")} s`;
  return `${rest} s`;
}
