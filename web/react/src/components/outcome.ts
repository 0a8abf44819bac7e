import { insteadAt } from "../core/breakpoint.js";
import { asRecord, asText, equalJson, writeJson } from "../core/json.js";
import {
  personName,
  shapeOf,
  unclearOf,
  type Answer,
  type CallView,
  type InterruptView,
} from "../core/index.js";
import { momentText } from "./momentText.js";

/** How a card says where its interrupt stands. */
export interface Outcome {
  readonly tone: "yes" | "no" | "quiet" | "wait" | "warn";
  readonly title: string;
  readonly detail: string | null;
}

/**
 * The words for an interrupt that is not simply open; null while it is. `call` is what it is
 * about: changes are told against its arguments.
 */
export function outcomeOf(view: InterruptView, call: CallView | null = null): Outcome | null {
  const { phase, closed, answer } = view;
  switch (phase) {
    case "open":
      return null;
    case "expired":
      return {
        tone: "warn",
        title: "Expired",
        detail: "This can no longer be answered. Withdraw it to continue.",
      };
    case "answered":
      return answer === null ? null : { ...wordsOf(view, answer, call), tone: "wait" };
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
        : wordsOf(view, answer, call);
    case "answeredElsewhere": {
      const { by } = closed;
      const whom = by === undefined ? "elsewhere" : `by ${personName(by)}`;
      const { title, detail, tone }: Outcome =
        answer === null
          ? { tone: "quiet", title: "Answered", detail: null }
          : wordsOf(view, answer, call);
      const all = [detail, whenOf(closed.at)].filter((text) => text !== null);
      return { tone, title: `${title} ${whom}`, detail: all.join(" · ") || null };
    }
    case "expired":
      return { tone: "warn", title: "Expired", detail: "Nobody answered in time." };
    case "stopped": {
      const { by } = closed;
      const who =
        by === undefined ? "the agent was stopped" : `${personName(by)} stopped the agent`;
      const when = whenOf(closed.at);
      const detail = `Withdrawn when ${who}${when === null ? "" : `, ${when}`}.`;
      return { tone: "quiet", title: "Stopped", detail };
    }
    case "superseded":
    case undefined:
      return {
        tone: "quiet",
        title: "No longer open",
        detail: "The agent no longer asks this.",
      };
  }
}

function wordsOf({ interrupt }: InterruptView, answer: Answer, call: CallView | null): Outcome {
  if (answer.status === "cancelled") return { tone: "quiet", title: "Withdrawn", detail: null };
  const shape = shapeOf(interrupt);
  const payload = asRecord(answer.payload);
  if (shape.kind === "approval") {
    const approved = shape.bare ? answer.payload === true : payload?.approved === true;
    if (!approved) return { tone: "no", title: "Denied", detail: asText(payload?.reason) ?? null };
    const edited = changesOf(answer, call) !== undefined;
    return { tone: "yes", title: edited ? "Approved with changes" : "Approved", detail: null };
  }
  if (shape.kind === "choice") {
    const chosen = shape.choices.find((choice) => choice.value === payload?.action);
    const result = unclearOf(interrupt) === null ? undefined : payload?.result;
    const detail =
      result === undefined ? null : result === null ? "no result" : `result: ${said(result)}`;
    const title = chosen?.title ?? "Answered";
    const instead = insteadAt(interrupt);
    const input = instead === null ? undefined : payload?.[instead.member];
    const changed = input !== undefined && !equalJson(input, instead?.shown);
    return { tone: "yes", title: changed ? `${title} with changes` : title, detail };
  }
  return { tone: "yes", title: "Answered", detail: asText(answer.payload) ?? null };
}

/** The arguments of an answer that differ from those it was asked about; undefined for the same ones. */
export function changesOf(answer: Answer | null, call: CallView | null): unknown {
  const item = answer?.status === "resolved" ? asRecord(answer.payload) : undefined;
  if (item === undefined || !("editedArgs" in item)) return undefined;
  return call !== null && equalJson(item.editedArgs, call.args) ? undefined : item.editedArgs;
}

function said(result: unknown): string {
  return asText(result) ?? writeJson(result);
}

function whenOf(at: string | undefined): string | null {
  const time = at === undefined ? NaN : Date.parse(at);
  return Number.isNaN(time) ? null : momentText(time);
}
