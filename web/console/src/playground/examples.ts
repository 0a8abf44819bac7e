/** A phrase the demo agent understands, and what it does then (design 9). */
export interface Example {
  readonly phrase: string;
  readonly shows: string;
}

/** Phrases for the demo agent `ops`. */
export const EXAMPLES: readonly Example[] = [
  { phrase: "Say hello", shows: "plain text, nothing to decide" },
  { phrase: "Refund order A-17", shows: "one approval, arguments can be edited" },
  {
    phrase: "Look up the order status and refund it",
    shows: "one call runs at once, the other asks first",
  },
  { phrase: "Email the three customers", shows: "three approvals in one go" },
  { phrase: "Clean up old files", shows: "a choice of four ways, each with what it does" },
  { phrase: "File the quarterly figures", shows: "a form with checks" },
  { phrase: "Deploy the new version", shows: "two confirmations, one after the other" },
  { phrase: "Arrange a meeting", shows: "a tool of this page: you pick the time" },
  { phrase: "Ask the nested agents", shows: "two inner agents, each with its own question" },
  { phrase: "List files", shows: "an approval that may be remembered" },
  { phrase: "Show me progress", shows: "a question inside a phase" },
  { phrase: "Do it the slow way", shows: "three seconds of work: reload meanwhile" },
  { phrase: "Charge the card and crash", shows: "the worker dies; nothing runs twice" },
];
