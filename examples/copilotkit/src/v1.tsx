// The same conversation by the hooks of CopilotKit's version 1, for who has a page of these: `/v1.html`.
// Its hook for questions knows one at a time and cannot cancel, so several at once need the mount that
// asks by the older event: `?runtime=http://localhost:8000/copilotkit-legacy`.
import {
  CopilotKit,
  useCoAgent,
  useCopilotAction,
  useLangGraphInterrupt,
} from "@copilotkit/react-core";
import { CopilotChat } from "@copilotkit/react-ui";
import "@copilotkit/react-ui/styles.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { Card, keyOf, legacy } from "./Approvals";
import "./page.css";
import { AGENT, openThread, settings, threadOf, useThread } from "./settings";
import { Slots } from "./Slots";

function App() {
  const threadId = useThread();
  const { runtimeUrl, useSingleEndpoint } = settings;
  return (
    <CopilotKit
      key={threadId}
      runtimeUrl={runtimeUrl}
      agent={AGENT}
      threadId={threadId}
      showDevConsole={false}
      enableInspector={false}
      {...(useSingleEndpoint === undefined ? {} : { useSingleEndpoint })}
    >
      <main className="v1">
        <section aria-label="Conversation">
          <Approvals />
          <Meeting />
          <Counter />
          <CopilotChat />
        </section>
      </main>
    </CopilotKit>
  );
}

function Approvals() {
  useLangGraphInterrupt({
    agentId: AGENT,
    render: ({ event, resolve }) => {
      const interrupts = legacy(event.value);
      return (
        <div className="cards" role="group" aria-label="Open questions">
          {interrupts.map((interrupt) => (
            <Card
              key={keyOf(interrupt)}
              interrupt={interrupt}
              // Its type says text, and it sends what it is given: the server wants the answer itself.
              give={(payload) => resolve(payload as string)}
            />
          ))}
        </div>
      );
    },
  });
  return null;
}

function Meeting() {
  useCopilotAction({
    name: "schedule_meeting",
    description: "Lets the user pick a time for a meeting.",
    parameters: [
      { name: "subject", type: "string" },
      { name: "slots", type: "string[]" },
    ],
    renderAndWaitForResponse: ({ args, respond }) => (
      <Slots subject={args.subject} slots={args.slots} respond={respond} />
    ),
  });
  return null;
}

interface Counted {
  counted?: number;
}

// The state that page and agent share.
function Counter() {
  const { state, setState } = useCoAgent<Counted>({ name: AGENT, initialState: {} });
  return (
    <p className="counter">
      <span>
        Counted: <output aria-label="Counted">{state?.counted ?? 0}</output>
      </span>
      <button onClick={() => setState({ counted: 40 })}>Count from 40</button>
    </p>
  );
}

if (threadOf(location) === "") openThread();

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
