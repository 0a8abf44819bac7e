export { SaysoAgent, canConnect } from "./agent.js";
export { briefingOf, permitsOf } from "./briefing.js";
export { declared, fetchCapabilities, readCapabilities } from "./capabilities.js";
export { InterruptController, controllerOf } from "./controller.js";
export { Conversation, conversationOf } from "./conversation.js";
export { readResult } from "./callResult.js";
export { canRetry } from "./failure.js";
export { failureText } from "./failureText.js";
export { expiryOf, formatRemaining, isExpired } from "./expiry.js";
export { Inbox } from "./inbox.js";
export { fetchOutcome, fetchSecret, hold, takeBack } from "./inboxClient.js";
export { inboxView } from "./inboxState.js";
export { canSubmit, holdable, initialState, isAnswerable, reduce } from "./machine.js";
export { sessionDrafts } from "./drafts.js";
export { equalJson, parseJson, textsOf, writeJson } from "./json.js";
export { personName } from "./people.js";
export { subagentPath } from "./subagentPath.js";
export { elsewhereOf } from "./elsewhere.js";
export { quickAnswer, quickOf } from "./quickDecision.js";
export { labelOf } from "./reasons.js";
export { mayDo, rightsOf } from "./rights.js";
export { isSecret, revealsOf, withoutSecrets, withSecretsLeft } from "./secrets.js";
export { RunDriver } from "./runs.js";
export { readSettled } from "./settled.js";
export { shapeOf } from "./shape.js";
export { SubagentStore, groupsOf, subagentsOf } from "./subagents.js";
export { unclearOf, unclearSchema } from "./unclear.js";
export { check, validateAnswer } from "./validate/validate.js";
export { argsAsObject, callAbout, callOf, readCall, subjectOf, viewOf, viewsOf } from "./views.js";

export type { AgentCapabilities } from "@ag-ui/client";
export type { Briefing, Permit, Told } from "./briefing.js";
export type { CallResult } from "./callResult.js";
export type { CapabilitiesRequest } from "./capabilities.js";
export type { ControllerOptions, LiveOptions, Validate } from "./controller.js";
export type { ConversationOptions, ConversationState, Outgoing, Sent } from "./conversation.js";
export type { Elsewhere } from "./elsewhere.js";
export type { FrontendCall, FrontendTool } from "./frontendTools.js";
export type { InboxOptions } from "./inbox.js";
export type { InboxAddress, Reply } from "./inboxClient.js";
export type { Held, InboxItem } from "./inboxItems.js";
export type { InboxState } from "./inboxState.js";
export type { Page } from "./polling.js";
export type { LegacyQuestion } from "./legacy.js";
export type { Rights } from "./rights.js";
export type { Quick } from "./quickDecision.js";
export type { Choice, Extra, JsonSchema, Shape } from "./shape.js";
export type { CallView, InterruptView, Phase } from "./views.js";
export type { Settled } from "./settled.js";
export type { Step } from "./steps.js";
export type { Subagent, SubagentInterrupts } from "./subagents.js";
export type { Unclear } from "./unclear.js";
export type { Verdict } from "./validate/validate.js";
export type { Action, MachineState, Origin, Status } from "./machine.js";
export type { Drafts } from "./drafts.js";
export type { RunEnd, RunListener } from "./runs.js";
export type {
  Answer,
  Answers,
  Batch,
  Closed,
  Connection,
  Ending,
  Failure,
  Interrupt,
  Message,
  Problem,
  ResumeEntry,
  SettledBy,
} from "./types.js";
