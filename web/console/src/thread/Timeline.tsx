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
import { subagentLabelFor, type SubagentLabels } from "../subagents.js";
import { saidOf } from "../inbox/labels.js";
import { ForkButton } from "./ForkButton.js";
import { type QuestionRecord, type RunRecord, type ThreadRecord } from "./records.js";
import { sameDay, Time } from "./Time.js";
import { timelineOf, wordsOf, type TimelineEvent } from "./timeline.js";

interface TimelineProps {
  readonly thread: ThreadRecord;
  readonly labels: SubagentLabels;
}

/** The events of a thread, in order: runs, questions, decisions, each with who and when. */
export function Timeline({ thread, labels }: TimelineProps) {
  const events = timelineOf(thread);
  if (events.length === 0) return <p className="sayso-quiet">Nothing has happened yet.</p>;
  return (
    <ol className="timeline" aria-label="Timeline">
      {events.map((event, index) => (
        <li key={event.key} data-kind={event.kind} data-tone={toneOf(event)}>
          <Time at={event.at} day={!sameDay(events[index - 1]?.at ?? null, event.at)} />
          <div className="moment">
            <EventView event={event} thread={thread} labels={labels} />
          </div>
        </li>
      ))}
    </ol>
  );
}

function EventView({ event, thread, labels }: TimelineProps & { readonly event: TimelineEvent }) {
  switch (event.kind) {
    case "began":
      return (
        <p>
          Run started <code className="moment-id">{event.run.runId}</code>
        </p>
      );
    case "ended":
      return (
        <p>
          <strong>{endOf(event.run)}</strong>
          {event.run.message !== null && <span dir="auto"> {plainText(event.run.message)}</span>}
        </p>
      );
    case "asked":
      return <QuestionEvent question={event.question} thread={thread} labels={labels} />;
    case "decided":
      return <DecisionEvent question={event.question} />;
    default:
      return event satisfies never;
  }
}

function QuestionEvent({
  question,
  thread,
  labels,
}: TimelineProps & { readonly question: QuestionRecord }) {
  const { interrupt, status, turnId } = question;
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
            asked by <PlainText text={subagentLabelFor(labels, by).name} />{" "}
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

function DecisionEvent({ question }: { readonly question: QuestionRecord }) {
  const { decision, interrupt } = question;
  const { title, detail } = wordsOf(question);
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

function toneOf(event: TimelineEvent): string {
  if (event.kind === "decided") return wordsOf(event.question).tone;
  if (event.kind === "asked") return event.question.status === "open" ? "open" : "quiet";
  return event.kind === "ended" && event.run.outcome === "error" ? "no" : "quiet";
}
