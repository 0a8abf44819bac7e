import { randomUUID } from "@ag-ui/client";
import { SaysoProvider, useConversation, type Conversation } from "@sayso/react";
import { PlainText, useSubagents } from "@sayso/react/components";
import { rightsOf } from "@sayso/react/core";
import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { Link, useNavigate } from "react-router";
import { onSignInChange } from "../who.js";
import type { AgentSummary } from "../api.js";
import { ConnectionBar } from "../ConnectionBar.js";
import { useDraftText } from "../drafts.js";
import { Layout } from "../Layout.js";
import { playPath, threadPath } from "../thread/path.js";
import { subagentLabels } from "../subagents.js";
import { useTitle } from "../title.js";
import { StopButton } from "../StopButton.js";
import { Composer } from "./Composer.js";
import { EXAMPLES } from "./examples.js";
import { useMeetings } from "./Meeting.js";
import { SidePanel } from "./SidePanel.js";
import { statusWords } from "./status.js";
import { Transcript } from "./Transcript.js";

import { useEffects } from "./useEffects.js";
import { useRefreshOnSettled } from "./useRefreshOnSettled.js";

export interface PlaygroundProps {
  readonly session: Conversation;
  readonly agents: readonly AgentSummary[];
  readonly agentId: string;
  readonly threadId: string;
}

/** One thread with one agent: the conversation, the composer, and what the agent really did. */
export function Playground(props: PlaygroundProps) {
  const { agent } = props.session.controller;
  const { agentId } = props;
  const provided = useMemo(() => ({ [agentId]: agent }), [agentId, agent]);
  return (
    <SaysoProvider agents={provided}>
      <Thread {...props} />
    </SaysoProvider>
  );
}

function Thread({ session, agents, agentId, threadId }: PlaygroundProps) {
  const navigate = useNavigate();
  const conversation = useConversation(session);
  const { controller } = session;
  const { subscribe, getSnapshot } = controller;
  const machine = useSyncExternalStore(subscribe, getSnapshot);
  const [text, setText] = useDraftText(threadId);
  const [panel, setPanel] = useState(false);
  const open = machine.interrupts.length;
  const unanswered = machine.interrupts.filter((interrupt) => !(interrupt.id in machine.answers));
  const running = machine.status === "running" || machine.status === "submitting";
  const effects = useEffects(machine.status, running);
  useRefreshOnSettled(session, threadId);
  useEffect(
    () =>
      onSignInChange(() => {
        session.refresh();
      }),
    [session],
  );
  const meetings = useMeetings();
  const { tools } = controller;
  const offered = useSyncExternalStore(tools.subscribe, tools.getSnapshot);
  const calls = useMemo(
    () =>
      offered.flatMap((frontendCall) =>
        frontendCall.status === "executing" ? [frontendCall.id] : [],
      ),
    [offered],
  );
  const groups = useSubagents();
  const subagents = useMemo(() => groups.flatMap((group) => group.subagent ?? []), [groups]);
  const labels = useMemo(() => subagentLabels(subagents), [subagents]);
  const mine = effects?.filter((effect) => effect.threadId === threadId).length ?? 0;
  const waiting = open + calls.length;
  const idle = machine.status === "idle" || machine.status === "stale";
  const words = statusWords(machine, conversation.connection, calls.length);
  useTitle(waiting, waiting > 0 ? words : agentId);

  const send = (message: string) => {
    if (session.send(message) !== "blocked") setText("");
  };
  const go = (agent: string) => {
    void navigate(playPath(agent, randomUUID()));
  };
  const examples = agentId === "ops" ? EXAMPLES : [];
  const begun = conversation.messages.length > 0 || conversation.unsent !== null;
  const empty = !begun && conversation.connection.status === "ready";

  return (
    <Layout
      tools={
        <>
          {agents.length > 1 && (
            <label className="agent-choice">
              <span className="sayso-sr">Agent</span>
              <select
                value={agentId}
                onChange={({ target }) => {
                  go(target.value);
                }}
              >
                {agents.map((agent) => (
                  <option key={agent.name}>{agent.name}</option>
                ))}
              </select>
            </label>
          )}
          <span
            className="thread-status"
            data-status={idle && calls.length > 0 ? "awaiting" : machine.status}
            role="status"
          >
            {words}
          </span>
          <button
            type="button"
            className="quiet-button panel-toggle"
            aria-expanded={panel}
            aria-controls="panel"
            onClick={() => {
              setPanel(!panel);
            }}
          >
            {effects === null ? "State" : `Effects ${mine}`}
          </button>
          <button
            type="button"
            className="sayso-button sayso-small"
            aria-label="New conversation"
            onClick={() => {
              go(agentId);
            }}
          >
            New<span className="wide"> conversation</span>
          </button>
        </>
      }
    >
      <div className="playground" data-panel={panel}>
        <main
          className="conversation"
          id="main"
          tabIndex={-1}
          aria-label={`Conversation with ${agentId}`}
        >
          {!empty && <h1 className="sayso-sr">Conversation with {agentId}</h1>}
          <ConnectionBar
            connection={conversation.connection}
            onTryNow={() => {
              session.refresh();
            }}
          />
          <div className="scroll">
            {empty && <Welcome agents={agents} agentId={agentId} onChoose={send} />}
            {conversation.connection.status === "loading" && conversation.messages.length === 0 && (
              <p className="restoring sayso-quiet">Loading the conversation…</p>
            )}
            <Transcript
              controller={controller}
              machine={machine}
              conversation={conversation}
              labels={labels}
              tools={meetings}
              calls={calls}
              onResend={() => {
                session.resend();
              }}
              onTakeBack={() => {
                setText(session.discardUnsent() ?? "");
              }}
            />
          </div>
          <div className="dock">
            {begun && waiting === 0 && examples.length > 0 && (
              <ul className="chips" aria-label="Examples">
                {examples.map(({ phrase, shows }) => (
                  <li key={phrase}>
                    <button
                      type="button"
                      title={shows}
                      onClick={() => {
                        send(phrase);
                      }}
                    >
                      {phrase}
                    </button>
                  </li>
                ))}
              </ul>
            )}
            <Composer
              text={text}
              onText={setText}
              open={open}
              unanswered={unanswered.filter((interrupt) => rightsOf(interrupt).answer).length}
              others={unanswered.filter((interrupt) => !rightsOf(interrupt).answer).length}
              running={running}
              calls={calls.length}
              queued={conversation.queued}
              stop={
                (running || waiting > 0) && (
                  <StopButton
                    threadId={threadId}
                    open={open}
                    onStopped={() => {
                      controller.stopped();
                      session.refresh();
                    }}
                  />
                )
              }
              onSend={() => {
                send(text.trim());
              }}
              onUnqueue={(index) => {
                setText(session.removeQueued(index) ?? "");
              }}
              onSteerAway={() => {
                void session.cancelAndSend(text.trim());
                setText("");
              }}
            />
          </div>
        </main>
        <aside className="panel" id="panel" aria-label="Effects and state">
          <SidePanel
            effects={effects}
            threadId={threadId}
            agentState={conversation.agentState}
            subagents={subagents}
            labels={labels}
          />
          <p className="thread-id">
            <Link to={threadPath(agentId, threadId)}>
              Inspect conversation <code>{threadId}</code>
            </Link>
          </p>
        </aside>
      </div>
    </Layout>
  );
}

function Welcome(props: {
  readonly agents: readonly AgentSummary[];
  readonly agentId: string;
  readonly onChoose: (phrase: string) => void;
}) {
  const { agents, agentId, onChoose } = props;
  const description = agents.find((agent) => agent.name === agentId)?.description ?? null;
  return (
    <div className="welcome">
      <h1>Agents that wait for your say-so</h1>
      <p>
        <PlainText text={description ?? `Write to ${agentId}.`} />
      </p>
      {agentId === "ops" && (
        <ul className="examples">
          {EXAMPLES.map(({ phrase, shows }) => (
            <li key={phrase}>
              <button
                type="button"
                onClick={() => {
                  onChoose(phrase);
                }}
              >
                <strong>{phrase}</strong>
                <span>{shows}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
