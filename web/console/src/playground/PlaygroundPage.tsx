import { randomUUID } from "@ag-ui/client";
import { useMemo } from "react";
import { Navigate, useNavigate, useParams } from "react-router";
import { Frame } from "../Frame.js";
import { Notice } from "../Notice.js";
import { useAgents } from "../useAgents.js";
import { openSession } from "./session.js";
import { Playground } from "./Playground.js";

/** The playground's address is agent and thread: a reload or a link comes back to the same place. */
export function PlaygroundPage() {
  const { agentId, threadId } = useParams();
  const list = useAgents();
  const navigate = useNavigate();
  const fresh = useMemo(() => randomUUID(), []);
  const agents = list.status === "ready" ? list.agents : [];
  const known = agents.some((one) => one.name === agentId);
  const session = useMemo(
    () =>
      known && agentId !== undefined && threadId !== undefined
        ? openSession(agentId, threadId)
        : null,
    [known, agentId, threadId],
  );

  if (list.status === "loading") {
    return (
      <Frame tools={null}>
        <Notice title="Looking for agents…" />
      </Frame>
    );
  }
  if (list.status === "failed") {
    return (
      <Frame tools={null}>
        <Notice title="No connection" action={{ label: "Try now", onClick: list.retry }}>
          {list.message} It is tried again every two seconds.
        </Notice>
      </Frame>
    );
  }
  const [first] = agents;
  if (first === undefined) {
    return (
      <Frame tools={null}>
        <Notice title="No agents here">
          The server runs, but no agent is registered. Start it with sayso demo to try one.
        </Notice>
      </Frame>
    );
  }
  if (agentId === undefined) return <Navigate to={`/play/${first.name}/${fresh}`} replace />;
  if (!known) {
    const home = () => {
      void navigate("/play");
    };
    return (
      <Frame tools={null}>
        <Notice title="No such agent" action={{ label: "To the playground", onClick: home }}>
          This server has no agent with the name {agentId}.
        </Notice>
      </Frame>
    );
  }
  if (session === null || threadId === undefined) {
    return <Navigate to={`/play/${agentId}/${fresh}`} replace />;
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
