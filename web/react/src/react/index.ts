export { useController } from "./context.js";
export { InterruptSlot, SaysoProvider } from "./SaysoProvider.js";
export { useConversation } from "./useConversation.js";
export { useInterrupt } from "./useInterrupt.js";
export { useInterrupts } from "./useInterrupts.js";

export type { SaysoProviderProps } from "./SaysoProvider.js";
export type {
  InterruptEvent,
  InterruptHandlerProps,
  InterruptRenderProps,
  UseInterruptConfig,
  UseInterruptReturn,
} from "./useInterrupt.js";
export type { CancelFn, Interrupts, ResolveFn } from "./useInterrupts.js";
