import type { Subagent } from "@sayso/react/core";

/** How a subagent's invocation is called on a page. */
export interface SubagentLabel {
  readonly name: string;
  /** What it was set to do, where that is known. */
  readonly description: string | null;
}

/** Who takes part in a thread, by the id of the invocation. */
export type Cast = ReadonlyMap<string, SubagentLabel>;

/** Invocations by id; several of one name are numbered, in the order in which they began. */
export function subagentLabels(
  all: readonly Pick<Subagent, "id" | "name" | "description">[],
): Cast {
  const nameOf = ({ name }: { readonly name: string | null }) => name ?? UNNAMED;
  return new Map(
    all.map((item) => {
      const alike = all.filter((other) => nameOf(other) === nameOf(item));
      const number = alike.length > 1 ? ` ${alike.indexOf(item) + 1}` : "";
      return [item.id, { name: `${nameOf(item)}${number}`, description: item.description }];
    }),
  );
}

/** The part that an invocation has, also one that nobody told of. */
export function partOf(cast: Cast, id: string): SubagentLabel {
  return cast.get(id) ?? { name: UNNAMED, description: null };
}

const UNNAMED = "Subagent";
