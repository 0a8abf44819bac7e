import {
  CopilotChat,
  CopilotKitProvider,
  useConfigureSuggestions,
  useFrontendTool,
  useThreads,
} from "@copilotkit/react-core/v2";
import { useMemo } from "react";

import { Approvals } from "./Approvals";
import { Meeting } from "./Meeting";
import { useRecovery } from "./recovery";
import { SaysoAgent } from "./SaysoAgent";
import { AGENT, openThread, settings, useThread } from "./settings";

export function App() {
  const threadId = useThread();
  const { generation, trouble, dismiss, onError } = useRecovery();
  const { runtimeUrl, useSingleEndpoint, agentUrl, wildcard, suggestions, plain } = settings;
  // Fresh agents for each thread, and after a run that failed: an agent that waits for an answer
  // refuses to load anything, and only a new one gets out of that.
  const key = `${threadId} ${generation}`;
  const reach = useMemo(
    () =>
      agentUrl
        ? { selfManagedAgents: { [AGENT]: new SaysoAgent({ url: agentUrl }) } }
        : { runtimeUrl, ...(useSingleEndpoint === undefined ? {} : { useSingleEndpoint }) },
    [key, runtimeUrl, useSingleEndpoint, agentUrl],
  );
  return (
    <CopilotKitProvider
      key={key}
      enableInspector={false}
      onError={plain ? () => undefined : onError}
      {...reach}
    >
      <main>
        {agentUrl ? null : <Threads current={threadId} />}
        <section aria-label="Conversation">
          {/* Before the chat and unconditionally: a hook that is mounted after the thread has
              been loaded never hears of the questions that are open in it. */}
          <Approvals />
          <Meeting />
          {trouble === undefined ? null : (
            <p role="alert" className="trouble">
              {trouble} <button onClick={dismiss}>Dismiss</button>
            </p>
          )}
          {wildcard ? <AnyTool /> : null}
          {suggestions ? <Suggestions /> : null}
          <CopilotChat agentId={AGENT} threadId={threadId} />
        </section>
      </main>
    </CopilotKitProvider>
  );
}

function Threads({ current }: { current: string }) {
  const { threads, error } = useThreads({ agentId: AGENT });
  return (
    <nav aria-label="Threads">
      <button onClick={() => openThread()}>New thread</button>
      {error ? <p role="alert">{error.message}</p> : null}
      <ul>
        {threads.map(({ id, updatedAt }) => (
          <li key={id}>
            <a href={`#${id}`} aria-current={id === current ? "page" : undefined}>
              {new Date(updatedAt).toLocaleString()}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

// What CopilotKit then sends at each load and after each message is no run of the agent here.
function Suggestions() {
  useConfigureSuggestions({
    instructions: "Suggest a refund, an email or a deploy.",
    providerAgentId: AGENT,
    consumerAgentId: AGENT,
    available: "always",
  });
  return null;
}

// A front-end tool by the name "*" is handed every call that has no result yet, also one that
// waits for an approval. What it returns is no result of that call: the server keeps its own.
function AnyTool() {
  useFrontendTool({
    name: "*",
    description: "Takes any call.",
    handler: async (call) => {
      document.body.dataset["taken"] = JSON.stringify(call);
      return "done in the browser";
    },
    followUp: false,
  });
  return null;
}
