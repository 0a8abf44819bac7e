import type { ToolCallMessagePartProps } from "@assistant-ui/react";

import { settings } from "./settings";

// A call of a tool: what it was called with and what came of it. assistant-ui offers a yes and a no
// of its own where every open question is one about a call that it shows.
export function Call({
  toolName,
  argsText,
  result,
  approval,
  respondToApproval,
}: ToolCallMessagePartProps) {
  const isOpen = approval !== undefined && approval.approved === undefined && !approval.resolution;
  return (
    <div className="call" role="group" aria-label={toolName}>
      <code>
        {toolName} {argsText}
      </code>
      {result === undefined ? null : <p>{String(result)}</p>}
      {settings.own && isOpen ? (
        <div className="row">
          <button onClick={() => void respondToApproval({ approved: true })}>Approve</button>
          <button onClick={() => void respondToApproval({ approved: false })}>Deny</button>
        </div>
      ) : null}
    </div>
  );
}
