// Printed from the server's codes and reasons by tests/unit/test_codes.py: do not edit.

/** Codes after which only the server knows what is open, so a client has to refresh. */
export const STALE: ReadonlySet<string> = new Set([
  "interrupts_pending",
  "partial_resume",
  "unknown_interrupt",
  "interrupt_expired",
  "already_resolved",
  "thread_busy",
]);

/** Codes of what the server refuses however often it is sent. */
export const LASTING: ReadonlySet<string> = new Set([
  "invalid_input",
  "unknown_thread",
  "unknown_interrupt",
  "duplicate_entry",
  "invalid_payload",
  "interrupt_expired",
  "already_resolved",
  "thread_too_large",
  "wrong_agent",
  "not_an_approver",
  "own_request",
  "denied_before",
  "breakpoints_refused",
]);

/** A word or two for each reason of the server's own. */
export const LABELS: ReadonlyMap<string, string> = new Map([
  ["tool_call", "Approval"],
  ["confirmation", "Confirmation"],
  ["input_required", "Input needed"],
  ["sayso:indeterminate", "Unclear outcome"],
  ["sayso:failed", "Failed"],
  ["sayso:decision", "Decision"],
  ["sayso:breakpoint", "Breakpoint"],
]);
