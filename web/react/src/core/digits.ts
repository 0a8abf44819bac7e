import { FrameReader } from "./eventStream.js";
import { asRecord, asText, parseJson } from "./json.js";
import { patched } from "./patch.js";

/** The values in the frames of one thread, with all digits. */
interface Told {
  /** Undefined while it is not known. */
  state: unknown;
  readonly activities: Map<string, unknown>;
}

/** The frames in which numbers are values, and the one that says whose they are. */
const TELLING = /"type":\s*"(?:RUN_STARTED|STATE_|ACTIVITY_|MESSAGES_)/;

/**
 * The digits of state and activities, which the client library reads as doubles: the same frames are
 * read a second time here, and kept beside what it makes of them.
 */
export class Digits {
  readonly #threads = new Map<string, Told>();

  /** Told each piece of one body as it comes. */
  body(): (piece: Uint8Array) => void {
    const frames = new FrameReader();
    let details: Told | undefined;
    return (piece) => {
      for (const frame of frames.read(piece)) {
        const event = TELLING.test(frame) ? asRecord(parseJson(frame)) : undefined;
        if (event === undefined) continue;
        if (event.type === "RUN_STARTED") details = this.#of(asText(event.threadId) ?? "");
        else if (details !== undefined) note(details, event);
      }
    };
  }

  /** A thread's state as the library has it, with the digits that were said. */
  state(threadId: string, state: unknown): unknown {
    return restored(state, this.#threads.get(threadId)?.state);
  }

  /** The content of an activity likewise. */
  activity(threadId: string, id: string, content: unknown): unknown {
    return restored(content, this.#threads.get(threadId)?.activities.get(id));
  }

  #of(threadId: string): Told {
    const thread = this.#threads.get(threadId) ?? { state: undefined, activities: new Map() };
    this.#threads.set(threadId, thread);
    return thread;
  }
}

function note(details: Told, event: Readonly<Record<string, unknown>>): void {
  const id = asText(event.messageId) ?? "";
  switch (event.type) {
    case "STATE_SNAPSHOT":
      details.state = event.snapshot;
      return;
    case "STATE_DELTA":
      details.state = after(details.state, event.delta);
      return;
    case "ACTIVITY_SNAPSHOT":
      details.activities.set(id, event.content);
      return;
    case "ACTIVITY_DELTA":
      details.activities.set(id, after(details.activities.get(id), event.patch));
      return;
    case "MESSAGES_SNAPSHOT":
      for (const item of Array.isArray(event.messages) ? (event.messages as unknown[]) : []) {
        const message = asRecord(item);
        if (message?.role === "activity") {
          details.activities.set(asText(message.id) ?? "", message.content);
        }
      }
      return;
    default:
  }
}

/** A value that does not fit is unknown from then on; the next snapshot says it. */
function after(before: unknown, patch: unknown): unknown {
  try {
    return before === undefined ? undefined : patched(before, patch);
  } catch {
    return undefined;
  }
}

/** The value, with each number for which `exact` has a longer spelling of the same; itself without. */
function restored(value: unknown, exact: unknown): unknown {
  if (typeof exact === "bigint") return Number(exact) === value ? exact : value;
  if (typeof value !== "object" || value === null) return value;
  if (typeof exact !== "object" || exact === null) return value;
  const digits = exact as Readonly<Record<string, unknown>>;
  const own = (key: string) => (Object.hasOwn(digits, key) ? digits[key] : undefined);
  const before: [string, unknown][] = Object.entries(value);
  const entries = before.map(([key, one]) => [key, restored(one, own(key))] as const);
  if (entries.every(([, one], index) => Object.is(one, before[index]?.[1]))) return value;
  return Array.isArray(value) ? entries.map(([, one]) => one) : Object.fromEntries(entries);
}
