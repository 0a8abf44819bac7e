export { Inbox } from "../core/inbox.js";
export { lookUp } from "../core/inboxClient.js";
export { inboxView } from "../core/inboxState.js";
export { useInbox } from "../react/useInbox.js";

export type { InboxOptions } from "../core/inbox.js";
export type { InboxAddress } from "../core/inboxClient.js";
export type { Held, InboxItem } from "../core/inboxItems.js";
export type { InboxConnection, InboxState } from "../core/inboxState.js";
