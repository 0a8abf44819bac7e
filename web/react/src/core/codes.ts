// Printed from the server's codes and reasons by tests/unit/test_codes.py: do not edit.

/** Codes after which only the server knows what is open, so a client has to refresh. */
export const STALE: ReadonlySet<string> = new Set([
  "interrupts_pending",
  "partial_resume",
  "unknown_interrupt",
  "interrupt_expired",
  "already_resolved",
  "thread_busy",
  "out_of_date",
]);

/** Codes of what the server refuses however often it is sent. */
export const LASTING: ReadonlySet<string> = new Set([
  "invalid_input",
  "not_allowed",
  "unknown_thread",
  "unknown_interrupt",
  "duplicate_entry",
  "invalid_payload",
  "interrupt_expired",
  "already_resolved",
  "on_hold",
  "thread_too_large",
  "wrong_agent",
  "not_an_approver",
  "own_request",
  "person_required",
  "unknown_person",
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
  ["sayso:elsewhere", "Elsewhere"],
]);

/** Names of rules that no author gave. */
export const NAMELESS_RULE = /^$|^always(?:#\d+)?$|^by_effect:|<lambda>/;

/** The words for people of a code, with `{by}` for who decided. */
export const TEXTS: ReadonlyMap<string, string> = new Map([
  ["not_allowed", "You may not do that here. Ask whoever runs this server."],
  ["unknown_thread", "This conversation does not exist, or it is not yours."],
  ["unknown_approval", "This approval is no longer remembered."],
  ["unauthenticated", "Sign in to continue."],
  ["store_unavailable", "The server cannot save at the moment. Nothing was lost; try again."],
  ["signer_unavailable", "This cannot be decided at the moment. Try again."],
  ["interrupts_pending", "There are open questions here. Answer them first."],
  ["partial_resume", "Some questions have no answer yet. Answer all of them."],
  ["unknown_interrupt", "That question no longer exists here, so your answer was not used."],
  ["duplicate_entry", "A question had two different answers, so none was used. Send one."],
  ["invalid_payload", "That answer does not fit the question. Check it, then send it again."],
  ["interrupt_expired", "That question had expired before your answer came. Ask again if needed."],
  ["already_resolved", "That was already decided{by}, so your answer was not used."],
  ["thread_busy", "The agent is still working here. Try again when it has finished."],
  ["on_hold", "This conversation is on hold, so it cannot be deleted."],
  ["thread_too_large", "This conversation is too long. Start a new one."],
  ["not_waiting", "The agent no longer waits here. Send a message to continue."],
  ["journal_gone", "Only questions of the last turn can be forked."],
  ["wrong_agent", "Another agent has unfinished work in this conversation."],
  ["not_an_approver", "Others have to answer this. Leave it to them, or withdraw it."],
  ["own_request", "You asked for this, so another approver has to answer. You can withdraw it."],
  ["person_required", "A person has to answer this, and you are signed in as a service."],
  ["step_up_required", "Sign in again to answer this, then send your answer again."],
  ["unknown_person", "Nobody of that name may answer this. Choose somebody else."],
  ["denied_before", "This was denied before{by}. Deny or withdraw it."],
  ["out_of_date", "This has changed since it was shown to you. Look at it again, then answer."],
  ["agent_version_missing", "This cannot continue here at the moment. Your answer was not used."],
  ["token_expired", "Your sign-in has ended. Sign in to continue."],
]);
