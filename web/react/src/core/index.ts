export { SaysoAgent, canConnect } from "./agent.js";
export { InterruptController } from "./controller.js";
export { expiryOf, formatRemaining, isExpired } from "./expiry.js";
export { canSubmit, initialState, isAnswerable, reduce } from "./machine.js";
export { RunDriver } from "./runs.js";

export type { ControllerOptions, Validate } from "./controller.js";
export type { Action, MachineState, Origin, Status } from "./machine.js";
export type { RunEnd, RunListener } from "./runs.js";
export type {
  Answer,
  Batch,
  Closed,
  Ending,
  Failure,
  Interrupt,
  Message,
  Problem,
  ResumeEntry,
  SettledBy,
} from "./types.js";
