import { callAbout, labelOf, personName, subjectOf, unclearOf } from "@sayso/react/core";
import {
  ArgumentTable,
  Beside,
  messageOf,
  PlainText,
  plainText,
  UnclearView,
} from "@sayso/react/components";
import { Link } from "react-router";
import { partOf, type Cast } from "../subagents.js";
import { saidOf } from "../inbox/labels.js";
import { ForkButton } from "./ForkButton.js";
import { type QuestionRecord, type RunRecord, type ThreadRecord } from "./records.js";
import { sameDay, Time } from "./Time.js";
import { timelineOf, wordsOf, type TimelineEvent } from "./timeline.js";

interface TimelineProps {
  readonly thread: ThreadRecord;
  readonly cast: Cast;
}

/** What happened in a thread, in order: runs, questions, decisions, each with who and when. */
export function Timeline({ thread, cast }: TimelineProps) {
  const moments = timelineOf(thread);
  if (moments.length === 0) return <p className="sayso-quiet">Nothing has happened yet.</p>;
  return (
    <ol className="timeline" aria-label="Timeline">
      {moments.map((moment, index) => (
        <li key={moment.key} data-kind={moment.kind} data-tone={toneOf(moment)}>
          <Time at={moment.at} day={!sameDay(moments[index - 1]?.at ?? null, moment.at)} />
          <div className="moment">
            <What moment={moment} thread={thread} cast={cast} />
          </div>
        </li>
      ))}
    </ol>
  );
}

function What({ moment, thread, cast }: TimelineProps & { readonly moment: TimelineEvent }) {
  switch (moment.kind) {
    case "began":
      return (
        <p>
          Run started <code className="moment-id">{moment.run.runId}</code>
        </p>
      );
    case "ended":
      return (
        <p>
          <strong>{endOf(moment.run)}</strong>
          {moment.run.message !== null && <span dir="auto"> {plainText(moment.run.message)}</span>}
        </p>
      );
    case "asked":
      return <Question asked={moment.asked} thread={thread} cast={cast} />;
    case "decided":
      return <Answered asked={moment.asked} />;
    default:
      return moment satisfies never;
  }
}

function Question({ asked, thread, cast }: TimelineProps & { readonly asked: QuestionRecord }) {
  const { interrupt, status, turnId } = asked;
  const { subagentRunId: by = null } = interrupt;
  const call = callAbout(interrupt, thread.messages);
  const subject = subjectOf(interrupt, call);
  const unclear = unclearOf(interrupt);
  return (
    <>
      <p>
        <strong>{labelOf(interrupt)}</strong>{" "}
        {subject !== null && <code>{plainText(subject)}</code>}{" "}
        {by !== null && (
          <span className="moment-who">
            asked by <PlainText text={partOf(cast, by).name} />{" "}
          </span>
        )}
        {status === "open" && (
          <Link to={`/inbox/${encodeURIComponent(interrupt.id)}`}>Answer in the inbox</Link>
        )}
      </p>
      <p className="moment-text" dir="auto">
        <PlainText text={messageOf(interrupt, call) ?? saidOf(interrupt)} />
      </p>
      {unclear !== null && <UnclearView unclear={unclear} />}
      {unclear === null && call !== null && (
        <details className="sayso-details">
          <summary>Arguments</summary>
          <ArgumentTable value={call.args} label={`Arguments of ${call.name}`} />
        </details>
      )}
      <Beside interrupt={interrupt} />
      {!thread.row.running && turnId !== null && turnId === thread.turnId && (
        <ForkButton
          agent={thread.row.agent}
          threadId={thread.row.threadId}
          interruptId={interrupt.id}
        />
      )}
    </>
  );
}

function Answered({ asked }: { readonly asked: QuestionRecord }) {
  const { decision, interrupt } = asked;
  const { title, detail } = wordsOf(asked);
  const subject = subjectOf(interrupt, callAbout(interrupt, []));
  const { by = null, channel = null } = decision ?? {};
  return (
    <>
      <p>
        <strong>{plainText(title)}</strong>
        {decision?.held === true && " (saved until the others are answered)"}
        {subject !== null && (
          <>
            {" "}
            <code>{plainText(subject)}</code>
          </>
        )}
        <span className="moment-who">
          {by !== null && ` by ${plainText(personName(by))}`}
          {channel !== null && ` ${CHANNELS[channel] ?? `through ${channel}`}`}
        </span>
      </p>
      {detail !== null && (
        <p className="moment-text" dir="auto">
          <PlainText text={detail} />
        </p>
      )}
      {decision?.payload !== undefined && (
        <details className="sayso-details">
          <summary>Answer</summary>
          <ArgumentTable value={decision.payload} label="Answer" />
        </details>
      )}
    </>
  );
}

/** The ways in which an answer comes to the server. */
const CHANNELS: Readonly<Record<string, string>> = {
  run: "in the conversation",
  inbox: "in the inbox",
};

const ENDS: Readonly<Record<string, string>> = {
  success: "Run finished",
  interrupt: "Run waits for answers",
  cancelled: "Run was stopped",
  error: "Run failed",
};

function endOf(run: RunRecord): string {
  return ENDS[run.outcome ?? ""] ?? `Run ended: ${run.outcome ?? "outcome unknown"}`;
}

function toneOf(moment: TimelineEvent): string {
  if (moment.kind === "decided") return wordsOf(moment.asked).tone;
  if (moment.kind === "asked") return moment.asked.status === "open" ? "open" : "quiet";
  return moment.kind === "ended" && moment.run.outcome === "error" ? "no" : "quiet";
}
