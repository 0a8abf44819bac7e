// What a page needs: the hooks, and what stands below them. The parts that they are made of, for
// cards and clients of one's own, are in `@sayso/react/core`.
export {
  Conversation,
  InterruptController,
  SaysoAgent,
  canConnect,
  controllerOf,
  conversationOf,
  sessionDrafts,
} from "./core/index.js";
export * from "./react/index.js";

export type * from "./core/index.js";
