import { randomUUID } from "@ag-ui/client";
import { useMemo } from "react";
import { Navigate, useNavigate } from "react-router";
import { usePersonalDrafts } from "../drafts.js";
import { Layout } from "../Layout.js";
import { Notice } from "../Notice.js";
import { SignIn } from "../SignIn.js";
import { playPath, usePathParts } from "../thread/path.js";
import { useAgents } from "../useAgents.js";
import { openSession } from "./session.js";
import { Playground } from "./Playground.js";

/** The playground's address is agent and thread: a reload or a link comes back to the same place. */
export function PlaygroundPage() {
  const [agentId, threadId] = usePathParts();
  const list = useAgents();
  const navigate = useNavigate();
  const drafts = usePersonalDrafts();
  const fresh = useMemo(() => randomUUID(), []);
  const agents = list.status === "ready" ? list.agents : [];
  const stored = agents.some((agent) => agent.name === agentId);
  const session = useMemo(
    () =>
      stored && agentId !== undefined && threadId !== undefined
        ? openSession(agentId, threadId, drafts?.answers ?? null)
        : null,
    [stored, agentId, threadId, drafts],
  );

  if (list.status === "loading") {
    return (
      <Layout tools={null}>
        <Notice title="Loading agents…" />
      </Layout>
    );
  }
  if (list.status === "denied") return <SignIn said={list.message} />;
  if (list.status === "failed") {
    return (
      <Layout tools={null}>
        {list.retry === null ? (
          <Notice title="Agents cannot be shown">{list.message}</Notice>
        ) : (
          <Notice title="No connection" action={{ label: "Try now", onClick: list.retry }}>
            {list.message} Trying again every 2 seconds.
          </Notice>
        )}
      </Layout>
    );
  }
  const [first] = agents;
  if (first === undefined) {
    return (
      <Layout tools={null}>
        <Notice title="No agents">
          This server has no agents. Run <code>sayso demo</code> to try one.
        </Notice>
      </Layout>
    );
  }
  if (agentId === undefined) return <Navigate to={playPath(first.name, fresh)} replace />;
  if (!stored) {
    const home = () => {
      void navigate("/play");
    };
    return (
      <Layout tools={null}>
        <Notice title="Agent not found" action={{ label: "Open the playground", onClick: home }}>
          This server has no agent named {agentId}.
        </Notice>
      </Layout>
    );
  }
  if (session === null || threadId === undefined) {
    return <Navigate to={playPath(agentId, fresh)} replace />;
  }
  return (
    <Playground
      key={`${agentId}/${threadId}`}
      session={session}
      agents={agents}
      agentId={agentId}
      threadId={threadId}
    />
  );
}
