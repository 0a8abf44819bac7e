import { PlainText } from "@sayso/react/components";
import { Fragment, useMemo, type ReactElement } from "react";
import { partOf, type Cast, type SubagentLabel } from "../subagents.js";
import { bySpeaker, type Block } from "./blocks.js";

export interface BlocksProps {
  readonly blocks: readonly Block[];
  readonly cast: Cast;
  readonly draw: (block: Block) => ReactElement;
}

/** A transcript's blocks; what a subagent said and did stands together under its name (SA-07). */
export function Blocks({ blocks, cast, draw }: BlocksProps) {
  const spoken = useMemo(() => bySpeaker(blocks), [blocks]);
  return spoken.map(({ by, key, blocks: some }) => {
    const drawn = some.map((block) => <Fragment key={block.key}>{draw(block)}</Fragment>);
    if (by === null) return <Fragment key={key}>{drawn}</Fragment>;
    const part = partOf(cast, by);
    return (
      <section key={key} className="spoken" aria-label={part.name}>
        <SpeakerLine part={part} />
        {drawn}
      </section>
    );
  });
}

/** A subagent's name, and what it was set to do. */
export function SpeakerLine({ part }: { readonly part: SubagentLabel }) {
  return (
    <p className="speaker">
      <strong>
        <PlainText text={part.name} />
      </strong>
      {part.description !== null && (
        <span dir="auto">
          <PlainText text={part.description} />
        </span>
      )}
    </p>
  );
}
