import type { Subagent } from "@sayso/react/core";

/** The name of a subagent's invocation on a page. */
export interface SubagentLabel {
  readonly name: string;
  /** Its task, where that is known. */
  readonly description: string | null;
}

/** The labels of a thread's subagents, by the id of the invocation. */
export type SubagentLabels = ReadonlyMap<string, SubagentLabel>;

/** Invocations by id; several of one name are numbered, in the order in which they began. */
export function subagentLabels(
  all: readonly Pick<Subagent, "id" | "name" | "description">[],
): SubagentLabels {
  const nameOf = ({ name }: { readonly name: string | null }) => name ?? UNNAMED;
  return new Map(
    all.map((item) => {
      const alike = all.filter((other) => nameOf(other) === nameOf(item));
      const number = alike.length > 1 ? ` ${alike.indexOf(item) + 1}` : "";
      return [item.id, { name: `${nameOf(item)}${number}`, description: item.description }];
    }),
  );
}

/** The label of an invocation; an unknown one is called "Subagent". */
export function subagentLabelFor(labels: SubagentLabels, id: string): SubagentLabel {
  return labels.get(id) ?? { name: UNNAMED, description: null };
}

const UNNAMED = "Subagent";
