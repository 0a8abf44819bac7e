export { useController } from "./context.js";
export { InterruptSlot, SaysoProvider } from "./SaysoProvider.js";
export { useConversation } from "./useConversation.js";
export { useHumanInTheLoop } from "./useHumanInTheLoop.js";
export { useInbox } from "./useInbox.js";
export { useInterrupt } from "./useInterrupt.js";
export { useInterrupts } from "./useInterrupts.js";
export { useThread } from "./useThread.js";

export type { SaysoProviderProps } from "./SaysoProvider.js";
export type {
  InterruptEvent,
  InterruptHandlerProps,
  InterruptRenderProps,
  UseInterruptConfig,
  UseInterruptReturn,
} from "./useInterrupt.js";
export type { HumanInTheLoopProps, UseHumanInTheLoopConfig } from "./useHumanInTheLoop.js";
export type { Placed } from "./useInSlot.js";
export type { CancelFn, Interrupts, ResolveFn } from "./useInterrupts.js";
export type { Thread } from "./useThread.js";
