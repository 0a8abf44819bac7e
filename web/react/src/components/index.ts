export { ChoiceBody, FormBody, TextBody } from "./AnswerBodies.js";
export { ApprovalBody, CancelButton } from "./ApprovalBody.js";
export { ArgumentTable } from "./ArgumentTable.js";
export { Countdown } from "./Countdown.js";
export { InterruptCard } from "./InterruptCard.js";
export { InterruptGroup } from "./InterruptGroup.js";
export { JsonEditor } from "./JsonEditor.js";
export { outcomeOf } from "./outcome.js";
export { ProblemList } from "./ProblemList.js";
export { SchemaForm } from "./SchemaForm.js";

export type { ApprovalBodyProps } from "./ApprovalBody.js";
export type { InterruptCardProps } from "./InterruptCard.js";
export type { InterruptGroupProps } from "./InterruptGroup.js";
export type { JsonEditorProps } from "./JsonEditor.js";
export type { Outcome } from "./outcome.js";
export type { SchemaFormProps } from "./SchemaForm.js";
