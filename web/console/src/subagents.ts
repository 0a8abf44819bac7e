import type { Subagent } from "@sayso/react/subagents";

/** How a subagent's invocation is called on a page. */
export interface Part {
  readonly name: string;
  /** What it was set to do, where that is known. */
  readonly description: string | null;
}

/** Who takes part in a thread, by the id of the invocation. */
export type Cast = ReadonlyMap<string, Part>;

/** Invocations by id; several of one name are numbered, in the order in which they began. */
export function castOf(all: readonly Pick<Subagent, "id" | "name" | "description">[]): Cast {
  const nameOf = ({ name }: { readonly name: string | null }) => name ?? UNNAMED;
  return new Map(
    all.map((one) => {
      const alike = all.filter((other) => nameOf(other) === nameOf(one));
      const number = alike.length > 1 ? ` ${alike.indexOf(one) + 1}` : "";
      return [one.id, { name: `${nameOf(one)}${number}`, description: one.description }];
    }),
  );
}

/** The part that an invocation has, also one that nobody told of. */
export function partOf(cast: Cast, id: string): Part {
  return cast.get(id) ?? { name: UNNAMED, description: null };
}

const UNNAMED = "Subagent";
