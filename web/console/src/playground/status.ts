import { rightsOf } from "@sayso/react/core";
import { isSignedOut } from "../ConnectionBar.js";
import type { Closed, ConversationState, MachineState } from "@sayso/react";

/**
 * A thread's status in words; nobody knows it before the first look at the server. `calls` are
 * those of this page's own tools that wait for the person.
 */
export function statusWords(
  machine: MachineState,
  connection: ConversationState["connection"],
  calls = 0,
): string {
  if (connection.status === "loading" && machine.status === "idle") return "Loading…";
  if (isSignedOut(connection)) return "Signed out";
  const open = machine.interrupts.length;
  const mine = machine.interrupts.filter((interrupt) => rightsOf(interrupt).answer).length;
  switch (machine.status) {
    case "idle":
      return calls === 0 ? "Ready" : "Waiting for you";
    case "running":
      return "Working";
    case "submitting":
      return "Sending";
    case "awaiting":
      if (mine === 0) return "Waiting for others";
      return mine === 1 ? "Waiting for you" : `${mine} waiting for you`;
    case "failed":
      return open === 0 ? "Failed" : "Not sent";
    case "expired":
      return "Expired";
    case "stale":
      return staleWords(machine.closed.at(-1)?.ending);
    default:
      return machine.status satisfies never;
  }
}

function staleWords(ending: Closed["ending"] | undefined): string {
  if (ending === "expired") return "Expired";
  return ending === "stopped" ? "Stopped" : "Answered elsewhere";
}
