// The hooks of a page, and what stands below them. Cards are in `@sayso/react/components`, and what
// needs no React in `@sayso/react/core`.
export {
  Conversation,
  InterruptController,
  SaysoAgent,
  canConnect,
  conversationOf,
  sessionDrafts,
} from "./core/index.js";
export * from "./react/index.js";

export type * from "./core/index.js";
