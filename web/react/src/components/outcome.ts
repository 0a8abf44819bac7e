import { asRecord, asText } from "../core/json.js";
import { shapeOf, type Answer, type InterruptView } from "../core/index.js";

/** How a card says where its interrupt stands. */
export interface Outcome {
  readonly tone: "yes" | "no" | "quiet" | "wait" | "warn";
  readonly title: string;
  readonly detail: string | null;
}

/** What to say about an interrupt that is not simply open; null while it is. */
export function outcomeOf(view: InterruptView): Outcome | null {
  const { phase, closed, answer } = view;
  switch (phase) {
    case "open":
      return null;
    case "expired":
      return {
        tone: "warn",
        title: "Time is over",
        detail: "This can no longer be answered. Cancel it to go on.",
      };
    case "answered":
      return answer === null ? null : { ...wordsOf(view, answer), tone: "wait" };
    case "sending":
      return { tone: "wait", title: "Sending…", detail: null };
    case "closed":
      break;
    default:
      return phase satisfies never;
  }
  switch (closed?.ending) {
    case "answered":
      return answer === null
        ? { tone: "quiet", title: "Answered", detail: null }
        : wordsOf(view, answer);
    case "elsewhere": {
      const by = who(closed.by, closed.at);
      if (answer === null) return { tone: "quiet", title: "Answered elsewhere", detail: by };
      const { title, detail, tone } = wordsOf(view, answer);
      const all = [detail, by].filter((one) => one !== null);
      return { tone, title: `${title} elsewhere`, detail: all.join(" · ") || null };
    }
    case "lapsed":
      return { tone: "warn", title: "Expired", detail: "Nobody answered in time." };
    case "stopped": {
      const by = who(closed.by, closed.at);
      const why = "It was cancelled with its turn";
      return { tone: "quiet", title: "Stopped", detail: by === null ? `${why}.` : `${why} ${by}.` };
    }
    case "superseded":
    case undefined:
      return {
        tone: "quiet",
        title: "No longer open",
        detail: "The server does not ask this any more.",
      };
  }
}

function wordsOf({ interrupt }: InterruptView, answer: Answer): Outcome {
  if (answer.status === "cancelled") return { tone: "quiet", title: "Cancelled", detail: null };
  const shape = shapeOf(interrupt);
  const payload = asRecord(answer.payload);
  if (shape.kind === "decision") {
    const approved = shape.bare ? answer.payload === true : payload?.approved === true;
    if (!approved) return { tone: "no", title: "Denied", detail: asText(payload?.reason) ?? null };
    const edited = payload !== undefined && "editedArgs" in payload;
    return { tone: "yes", title: edited ? "Approved with changes" : "Approved", detail: null };
  }
  if (shape.kind === "choice") {
    const chosen = shape.choices.find((one) => one.value === payload?.action);
    return { tone: "yes", title: chosen?.title ?? "Answered", detail: null };
  }
  return { tone: "yes", title: "Answered", detail: asText(answer.payload) ?? null };
}

function who(by: string | undefined, at: string | undefined): string | null {
  const time = at === undefined ? NaN : Date.parse(at);
  const when = Number.isNaN(time) ? null : new Date(time).toLocaleString();
  if (by === undefined) return when;
  return when === null ? `by ${by}` : `by ${by}, ${when}`;
}
