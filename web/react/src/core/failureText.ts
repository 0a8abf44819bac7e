import { TEXTS } from "./codes.js";
import { personName } from "./people.js";
import type { Failure } from "./types.js";

/** The parts of a failure that its text is made of. */
export type Told = Pick<Failure, "code" | "message"> & Partial<Pick<Failure, "named">>;

/**
 * A failure for people: our sentence for its code, without ids and words of the wire, else the
 * server's own. Its `message` is for whoever writes the client.
 */
export function failureText({ code, message, named = {} }: Told): string {
  const text = code === null ? undefined : TEXTS.get(code);
  const by = Object.values(named).find((settled) => settled.by !== undefined)?.by;
  return text?.replace("{by}", by === undefined ? "" : ` by ${personName(by)}`) ?? message;
}
