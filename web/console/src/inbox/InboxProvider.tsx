import { useInbox } from "@sayso/react";
import { Inbox, rightsOf, validateAnswer, type InboxState, type Rights } from "@sayso/react/core";
import {
  createContext,
  useContext,
  useEffect,
  useEffectEvent,
  useMemo,
  useState,
  type ReactNode,
} from "react";
import { onAccessChange, serverFetch } from "../access.js";
import { serverUrl } from "../base.js";
import { usePersonalDrafts } from "../drafts.js";
import { switchOf } from "../switches.js";
import { onSignInChange } from "../who.js";
import { showCount } from "./favicon.js";
import { useNotices } from "./useNotices.js";

interface Shared {
  readonly inbox: Inbox;
  readonly state: InboxState;
}

/** Whether an approval or a denial waits before it is sent, so that it can be undone. */
export const UNDO = switchOf("sayso-undo");

const UNDO_MS = 5_000;

const Context = createContext<Shared | null>(null);

/**
 * One inbox for the whole console: it counts what is open wherever the reader is. Its answers leave as
 * whoever gave them: none does between a change of the sign-in and the server's word on who is there.
 */
export function InboxProvider(props: {
  /** Called when the person has gone before something was sent that waited. */
  readonly onUnsent: () => void;
  readonly children: ReactNode;
}) {
  const { children } = props;
  const drafts = usePersonalDrafts();
  const [inbox] = useState(
    () =>
      new Inbox({
        url: serverUrl(""),
        fetch: serverFetch,
        validate: validateAnswer,
        ...(drafts !== null && { drafts: drafts.inbox }),
        undoMs: () => (UNDO.isOn() ? UNDO_MS : 0),
      }),
  );
  const onUnsent = useEffectEvent(props.onUnsent);
  // Before the inbox is left: it forgets what waits.
  useEffect(
    () => () => {
      if (Object.keys(inbox.getSnapshot().sendAt).length > 0) onUnsent();
    },
    [inbox],
  );
  const state = useInbox(inbox);
  useEffect(() => {
    const stops = [
      onAccessChange(() => {
        inbox.suspend();
      }),
      onSignInChange(() => {
        inbox.resume();
        inbox.reconnect();
      }),
    ];
    return () => {
      for (const stop of stops) stop();
    };
  }, [inbox]);
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
  const waits = ({ answer, signIn }: Rights) => answer || signIn;
  return state.items.filter((item) => item.held === null && waits(rightsOf(item.interrupt))).length;
}
