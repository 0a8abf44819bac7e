import type { Interrupt } from "@ag-ui/client";
import type { Spelt } from "./exact.js";
import { asRecord, asText } from "./json.js";
import type { Answer } from "./types.js";

/**
 * What questions were like when their answers were given. The server is told with the answer, and
 * refuses it as `out_of_date` if the question has changed since.
 */
export class Shown {
  readonly #digests = new Map<string, string | undefined>();

  /** An answer was given to the question as it is here. */
  note(interrupt: Interrupt): void {
    this.#digests.set(interrupt.id, digestIn(interrupt));
  }

  /** The reader is shown these anew: what they send from now on is about that. */
  forget(ids: Iterable<string>): void {
    for (const id of ids) this.#digests.delete(id);
  }

  /** The answer with what its question was like; one that nobody noted is about the present one. */
  beside(interrupt: Interrupt, answer: Answer): Answer & Spelt {
    const { id } = interrupt;
    const shown = this.#digests.has(id) ? this.#digests.get(id) : digestIn(interrupt);
    return shown === undefined ? answer : { ...answer, metadata: { sayso: { shown } } };
  }
}

/** The digest of a question as it stands; undefined where the server says none. */
function digestIn(interrupt: Interrupt): string | undefined {
  return asText(asRecord(asRecord(interrupt.metadata)?.sayso)?.digest);
}
