import type { MachineState } from "@sayso/react";

/** A thread's status in words. */
export function statusWords(machine: MachineState): string {
  const open = machine.interrupts.length;
  switch (machine.status) {
    case "idle":
      return "Idle";
    case "running":
      return "Working";
    case "submitting":
      return "Sending";
    case "awaiting":
      return open === 1 ? "Waiting for you" : `${open} waiting for you`;
    case "failed":
      return open === 0 ? "Failed" : "Not sent";
    case "expired":
      return "Time is over";
    case "stale":
      return machine.closed.at(-1)?.ending === "lapsed" ? "Expired" : "Settled elsewhere";
    default:
      return machine.status satisfies never;
  }
}
