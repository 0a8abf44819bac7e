import { insteadAt } from "../core/breakpoint.js";
import { asRecord, asText, equalJson, writeJson } from "../core/json.js";
import {
  formatRemaining,
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
 * about: changes are told against its arguments. `apart`: why it was denied is told by `resultOf`.
 */
export function outcomeOf(
  view: InterruptView,
  call: CallView | null = null,
  apart = false,
): Outcome | null {
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
      return decided(view, call, apart, BY_YOU, new Date(closed.closedAt).toISOString());
    case "answeredElsewhere": {
      const { by } = closed;
      const whom = by === undefined ? " elsewhere" : ` by ${personName(by)}`;
      return decided(view, call, apart, { title: whom, detail: null }, closed.at);
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

const BY_YOU = { title: "", detail: "by you" };

function decided(
  view: InterruptView,
  call: CallView | null,
  apart: boolean,
  who: { readonly title: string; readonly detail: string | null },
  at: string | undefined,
): Outcome {
  const { answer } = view;
  const { title, detail, tone }: Outcome =
    answer === null
      ? { tone: "quiet", title: "Answered", detail: null }
      : wordsOf(view, answer, call);
  const own = apart && deniedReason(view) !== undefined ? null : detail;
  const all = [who.detail, own, whenOf(at)].filter((text) => text !== null);
  return { tone, title: `${title}${who.title}`, detail: all.join(" · ") || null };
}

/** What came of a decision, under it. */
export interface ResultWords {
  readonly tone: "quiet" | "no" | "warn";
  readonly title: string;
  readonly text: string | null;
  /** When what runs began, in epoch milliseconds; null for what runs no more. */
  readonly since: number | null;
}

/** The words for what came of the call that was decided; null while nobody knows. */
export function resultOf(view: InterruptView): ResultWords | null {
  const { closed } = view;
  if (closed === null) return null;
  const reason = deniedReason(view);
  if (reason !== undefined) {
    const title = reason === null ? "Not run. The agent was told no." : "Not run.";
    const text = reason === null ? null : `Reason given to the agent: ${reason}`;
    return { tone: "quiet", title, text, since: null };
  }
  const { result } = closed;
  if (result === undefined) return null;
  const { status, text, at, ms } = result;
  const took = ms === null ? "" : ` · ${secondsText(ms)}`;
  switch (status) {
    case "running":
      return { tone: "quiet", title: "Running…", text: null, since: at };
    case "executed":
      return text === null
        ? { tone: "quiet", title: `Ran${took}`, text: null, since: null }
        : {
            tone: "quiet",
            title: "Ran:",
            text: took === "" ? text : `${text.replace(/\.$/u, "")}${took}`,
            since: null,
          };
    case "failed": {
      const told = "The agent was told.";
      return {
        tone: "no",
        title: text === null ? `Failed. ${told}` : "Failed:",
        text: text === null ? null : `${sentence(text)} ${told}`,
        since: null,
      };
    }
    case "not_run":
      // Of what was withdrawn or ran out of time the line above says all.
      if (view.answer?.status !== "resolved") return null;
      return { tone: "warn", title: "Not run.", text, since: null };
    case "unknown":
      return {
        tone: "warn",
        title: "It was started, and may or may not have happened.",
        text: null,
        since: null,
      };
    default:
      return status satisfies never;
  }
}

/** The reason of a call that was denied, null for none; undefined for what was not denied. */
function deniedReason({ interrupt, answer }: InterruptView): string | null | undefined {
  if (answer?.status !== "resolved") return undefined;
  const shape = shapeOf(interrupt);
  if (shape.kind !== "approval") return undefined;
  const payload = asRecord(answer.payload);
  const approved = shape.bare ? answer.payload === true : payload?.approved === true;
  return approved ? undefined : (asText(payload?.reason) ?? null);
}

function secondsText(milliseconds: number): string {
  if (milliseconds < 50) return "under 0.1 s";
  const seconds = milliseconds / 1000;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  return formatRemaining(milliseconds);
}

function sentence(text: string): string {
  const line = text.trimEnd();
  return /[.!?…]$/u.test(line) ? line : `${line}.`;
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
    if (interrupt.reason === "sayso:elsewhere" && payload?.action === "deny") {
      return { tone: "no", title: "Denied", detail: null };
    }
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
