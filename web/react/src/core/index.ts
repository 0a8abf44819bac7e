export { SaysoAgent, canConnect } from "./agent.js";
export { InterruptController, controllerOf } from "./controller.js";
export { Conversation, conversationOf } from "./conversation.js";
export { expiryOf, formatRemaining, isExpired } from "./expiry.js";
export { canSubmit, isAnswerable, reduce } from "./machine.js";
export { initialState } from "./machineState.js";
export { sessionDrafts } from "./drafts.js";
export { equalJson, parseJson } from "./json.js";
export { originOf } from "./origin.js";
export { quickAnswer, quickOf } from "./quick.js";
export { RunDriver } from "./runs.js";
export { shapeOf } from "./shape.js";
export { argsAsObject, callAbout, callOf, readCall, viewOf, viewsOf } from "./views.js";

export type { ControllerOptions, Validate } from "./controller.js";
export type {
  Connection,
  ConversationOptions,
  ConversationState,
  Outgoing,
  Sent,
} from "./conversation.js";
export type { FrontendCall, FrontendTool } from "./frontendTools.js";
export type { Page } from "./follow.js";
export type { LegacyQuestion } from "./legacy.js";
export type { Quick } from "./quick.js";
export type { Choice, Extra, JsonSchema, Shape } from "./shape.js";
export type { CallView, InterruptView, Phase } from "./views.js";
export type { Step } from "./steps.js";
export type { Action, MachineState, Origin, Status } from "./machineState.js";
export type { Drafts } from "./drafts.js";
export type { RunEnd, RunListener } from "./runs.js";
export type {
  Answer,
  Answers,
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
