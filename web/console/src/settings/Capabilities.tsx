import { PlainText } from "@sayso/react/components";
import { useEffect, useState } from "react";
import { fetchCapabilities, type AgentSummary } from "../api.js";
import { Declaration } from "./Declaration.js";

/** One agent's declaration; asked for when it is unfolded, at once where it is the only one. */
export function Capabilities(props: { readonly agent: AgentSummary; readonly alone: boolean }) {
  const { agent, alone } = props;
  const [open, setOpen] = useState(alone);
  return (
    <details
      className="capabilities"
      open={open}
      onToggle={({ currentTarget }) => {
        setOpen(currentTarget.open);
      }}
    >
      <summary>
        <strong>{agent.name}</strong>
        {agent.description !== null && (
          <span>
            <PlainText text={agent.description} />
          </span>
        )}
      </summary>
      {open && <Declared name={agent.name} />}
    </details>
  );
}

function Declared({ name }: { readonly name: string }) {
  const [found, setFound] = useState<{ readonly value?: unknown; readonly error?: string }>({});
  useEffect(() => {
    const abort = new AbortController();
    fetchCapabilities(name, abort.signal).then(
      (value) => {
        setFound({ value });
      },
      (reason: unknown) => {
        if (abort.signal.aborted) return;
        setFound({ error: reason instanceof Error ? reason.message : String(reason) });
      },
    );
    return () => {
      abort.abort();
    };
  }, [name]);
  if (found.error !== undefined) return <p role="alert">{found.error}</p>;
  if (found.value === undefined) return <p className="sayso-quiet">Loading…</p>;
  return <Declaration value={found.value} name={name} />;
}
