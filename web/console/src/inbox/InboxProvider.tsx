import { sessionDrafts, useInbox } from "@sayso/react";
import { Inbox, rightsOf, validateAnswer, type InboxState } from "@sayso/react/core";
import { createContext, useContext, useEffect, useMemo, useState, type ReactNode } from "react";
import { onToken, serverFetch } from "../access.js";
import { serverUrl } from "../base.js";
import { showCount } from "./favicon.js";
import { useNotices } from "./useNotices.js";

interface Shared {
  readonly inbox: Inbox;
  readonly state: InboxState;
}

const Context = createContext<Shared | null>(null);

/** One inbox for the whole console: it counts what is open wherever the reader is. */
export function InboxProvider({ children }: { readonly children: ReactNode }) {
  const [inbox] = useState(
    () =>
      new Inbox({
        url: serverUrl(""),
        fetch: serverFetch,
        validate: validateAnswer,
        drafts: sessionDrafts("sayso-inbox"),
      }),
  );
  const state = useInbox(inbox);
  useEffect(
    () =>
      onToken(() => {
        inbox.reconnect();
      }),
    [inbox],
  );
  useNotices(state);
  const open = waitingIn(state);
  useEffect(() => {
    showCount(open);
  }, [open]);
  const value = useMemo(() => ({ inbox, state }), [inbox, state]);
  return <Context.Provider value={value}>{children}</Context.Provider>;
}

/** The console's inbox and how it stands. */
export function useSharedInbox(): Shared {
  const shared = useContext(Context);
  if (shared === null) throw new Error("Put an <InboxProvider> above the views that use it.");
  return shared;
}

/**
 * How many questions wait for this person: what is answered only waits for others of its thread, and
 * what somebody else has to answer waits for them.
 */
export function waitingIn(state: InboxState): number {
  return state.items.filter((item) => item.held === null && rightsOf(item.interrupt).answer).length;
}
