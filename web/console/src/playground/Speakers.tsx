import { PlainText } from "@sayso/react/components";
import { Fragment, useMemo, type ReactElement } from "react";
import { subagentLabelFor, type SubagentLabels, type SubagentLabel } from "../subagents.js";
import { bySpeaker, type Block } from "./blocks.js";

export interface BlocksProps {
  readonly blocks: readonly Block[];
  readonly labels: SubagentLabels;
  readonly draw: (block: Block) => ReactElement;
}

/** A transcript's blocks; what a subagent said and did stands together under its name (SA-07). */
export function Blocks({ blocks, labels, draw }: BlocksProps) {
  const spoken = useMemo(() => bySpeaker(blocks), [blocks]);
  return spoken.map(({ by, key, blocks: some }) => {
    const drawn = some.map((block) => <Fragment key={block.key}>{draw(block)}</Fragment>);
    if (by === null) return <Fragment key={key}>{drawn}</Fragment>;
    const label = subagentLabelFor(labels, by);
    return (
      <section key={key} className="spoken" aria-label={label.name}>
        <SpeakerLine label={label} />
        {drawn}
      </section>
    );
  });
}

/** A subagent's name, and what it was set to do. */
export function SpeakerLine({ label }: { readonly label: SubagentLabel }) {
  return (
    <p className="speaker">
      <strong>
        <PlainText text={label.name} />
      </strong>
      {label.description !== null && (
        <span dir="auto">
          <PlainText text={label.description} />
        </span>
      )}
    </p>
  );
}
