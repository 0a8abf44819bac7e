import { HttpAgent } from "@ag-ui/client";
import {
  AssistantRuntimeProvider,
  ComposerPrimitive,
  MessagePrimitive,
  ThreadPrimitive,
} from "@assistant-ui/react";
import { useAgUiRuntime } from "@assistant-ui/react-ag-ui";
import { useMemo, useSyncExternalStore } from "react";

import { Approvals } from "./Approvals";
import { Call } from "./Call";
import { historyOf } from "./history";
import { Meeting } from "./Meeting";
import { useRecovery } from "./recovery";
import { agentUrl, openThread, settings, stopThread, threadOf } from "./settings";

export function App() {
  const threadId = useSyncExternalStore(onThread, () => threadOf(location));
  const recovery = useRecovery();
  return (
    <main>
      <header>
        <button onClick={() => openThread()}>New thread</button>
        {recovery.trouble === undefined ? null : (
          <p role="alert" className="trouble">
            {recovery.trouble} <button onClick={recovery.dismiss}>Dismiss</button>
          </p>
        )}
      </header>
      {/* A runtime and an agent for each thread, and new ones after a run that failed: both keep
          what they wait for, and only new ones look at the thread again. */}
      <Conversation
        key={`${threadId} ${recovery.generation}`}
        threadId={threadId}
        onError={settings.plain ? () => undefined : recovery.onError}
        onFollowed={recovery.again}
      />
    </main>
  );
}

function onThread(changed: () => void): () => void {
  window.addEventListener("hashchange", changed);
  return () => window.removeEventListener("hashchange", changed);
}

interface Props {
  threadId: string;
  onError: (error: Error) => void;
  onFollowed: () => void;
}

function Conversation({ threadId, onError, onFollowed }: Props) {
  const agent = useMemo(() => new HttpAgent({ url: agentUrl(), threadId }), [threadId]);
  const history = useMemo(() => historyOf(threadId, onFollowed), [threadId, onFollowed]);
  const runtime = useAgUiRuntime({ agent, onError, adapters: { history } });
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <Meeting />
      <ThreadPrimitive.Root className="thread">
        <ThreadPrimitive.Viewport className="talk" role="log" aria-label="Conversation">
          <ThreadPrimitive.Messages components={{ UserMessage, AssistantMessage }} />
          <Approvals />
        </ThreadPrimitive.Viewport>
        <ComposerPrimitive.Root className="composer">
          <ComposerPrimitive.Input aria-label="Message" placeholder="Write a message" rows={1} />
          <ThreadPrimitive.If running={false}>
            <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
          </ThreadPrimitive.If>
          <ThreadPrimitive.If running>
            <ComposerPrimitive.Cancel onClick={() => void stopThread(threadId)}>
              Stop
            </ComposerPrimitive.Cancel>
          </ThreadPrimitive.If>
        </ComposerPrimitive.Root>
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  );
}

const UserMessage = () => (
  <MessagePrimitive.Root className="message user">
    <MessagePrimitive.Parts />
  </MessagePrimitive.Root>
);

const AssistantMessage = () => (
  <MessagePrimitive.Root className="message">
    <MessagePrimitive.Parts components={{ tools: { Fallback: Call } }} />
  </MessagePrimitive.Root>
);
