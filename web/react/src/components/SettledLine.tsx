import type { Settled } from "../core/settled.js";
import { personName } from "../core/people.js";
import { momentText } from "./momentText.js";
import { PlainText, plainText } from "./PlainText.js";

const MAX_CHARACTERS = 160;

/** A question that is settled, as one quiet line: what was asked, what was answered, by whom. */
export function SettledLine({ settled }: { readonly settled: Settled }) {
  const { question, status, said, by, at } = settled;
  const answer = status === "resolved" ? said : ENDINGS[status];
  const long = question.length > MAX_CHARACTERS || said.length > MAX_CHARACTERS;
  const line = (
    <>
      <span className="sayso-settled-question" dir="auto">
        <PlainText text={clipped(question)} />
      </span>{" "}
      <strong dir="auto">
        <PlainText text={clipped(answer)} />
      </strong>
      <span className="sayso-quiet">
        {by !== null && ` by ${plainText(personName(by))}`}
        {at !== null && (
          <>
            {by === null ? " " : ", "}
            <time dateTime={new Date(at).toISOString()}>{momentText(at)}</time>
          </>
        )}
      </span>
    </>
  );
  if (!long) {
    return (
      <p className="sayso-settled" data-status={status}>
        {line}
      </p>
    );
  }
  return (
    <details className="sayso-settled" data-status={status}>
      <summary>{line}</summary>
      <p className="sayso-text" dir="auto">
        <PlainText text={question} />
      </p>
      {status === "resolved" && (
        <p className="sayso-text" dir="auto">
          <PlainText text={said} />
        </p>
      )}
    </details>
  );
}

const ENDINGS = {
  cancelled: "Withdrawn without an answer",
  expired: "Nobody answered in time",
} as const;

function clipped(text: string): string {
  const first = text.split("\n", 1)[0] ?? "";
  const letters = Array.from(first);
  if (letters.length <= MAX_CHARACTERS) return first === text ? first : `${first} …`;
  return `${letters.slice(0, MAX_CHARACTERS).join("")}…`;
}
