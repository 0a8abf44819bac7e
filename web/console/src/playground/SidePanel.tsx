import { ArgumentTable, plainText } from "@sayso/react/components";
import type { Subagent } from "@sayso/react/core";
import type { Effect } from "../api.js";
import { brief } from "../inbox/labels.js";
import { subagentLabelFor, type SubagentLabels } from "../subagents.js";
import { SpeakerLine } from "./Speakers.js";

export interface SidePanelProps {
  readonly effects: readonly Effect[] | null;
  readonly threadId: string;
  readonly agentState: unknown;
  readonly subagents: readonly Subagent[];
  readonly labels: SubagentLabels;
}

const STANDS: Readonly<Record<Subagent["status"], string>> = {
  running: "working",
  waiting: "waiting for you",
  finished: "done",
  failed: "failed",
  stopped: "stopped",
};

/** The agent's real effects and its state: the two things a chat cannot prove. */
export function SidePanel(props: SidePanelProps) {
  const { effects, threadId, agentState, subagents, labels } = props;
  const here = effects?.filter((effect) => effect.threadId === threadId) ?? [];
  const elsewhere = effects?.filter((effect) => effect.threadId !== threadId) ?? [];
  return (
    <>
      {effects !== null && (
        <section aria-labelledby="effects-title">
          <h2 id="effects-title">Effects</h2>
          <p className="panel-note">Side effects of this conversation, oldest first.</p>
          {here.length === 0 ? (
            <p className="sayso-quiet">Nothing yet.</p>
          ) : (
            <EffectList effects={here} label="Effects of this conversation" />
          )}
          {elsewhere.length > 0 && (
            <details className="elsewhere">
              <summary>{`${elsewhere.length} in other conversations`}</summary>
              <EffectList effects={elsewhere} label="Effects of other conversations" />
            </details>
          )}
        </section>
      )}
      {subagents.length > 0 && (
        <section aria-labelledby="subagents-title">
          <h2 id="subagents-title">Subagents</h2>
          <ul className="subagents">
            {subagents.map(({ id, status }) => (
              <li key={id}>
                <SpeakerLine label={subagentLabelFor(labels, id)} />
                <span className="subagent-status" data-status={status}>
                  {STANDS[status]}
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
      <section aria-labelledby="state-title">
        <h2 id="state-title">State</h2>
        {isEmpty(agentState) ? (
          <p className="sayso-quiet">No shared state yet.</p>
        ) : (
          <ArgumentTable value={agentState} label="Agent state" />
        )}
      </section>
    </>
  );
}

function EffectList({
  effects,
  label,
}: {
  readonly effects: readonly Effect[];
  readonly label: string;
}) {
  return (
    <ol className="effects" aria-label={label}>
      {effects.map((effect, index) => (
        <li key={index}>
          <div className="effect-head">
            <code>{effect.kind}</code>
            <time dateTime={effect.at}>{timeOf(effect.at)}</time>
          </div>
          <p className="effect-args">{plainText(brief(effect.args))}</p>
        </li>
      ))}
    </ol>
  );
}

function timeOf(pointer: string): string {
  const time = Date.parse(pointer);
  return Number.isNaN(time) ? pointer : new Date(time).toLocaleTimeString();
}

function isEmpty(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return value === undefined || value === null;
  return Object.keys(value).length === 0;
}
