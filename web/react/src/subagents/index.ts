export { SubagentBook, subagentsOf } from "./book.js";
export { groupsOf } from "./groups.js";
export { useSubagents } from "./useSubagents.js";

export type { InterruptsOfOne, Subagent } from "./groups.js";
