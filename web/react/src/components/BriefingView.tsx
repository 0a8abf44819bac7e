import type { Briefing, Told } from "../core/briefing.js";
import { writeJson } from "../core/json.js";
import { Fold } from "./Fold.js";
import { PlainText } from "./PlainText.js";

/** The plan, its reason and its effect: the reviewer's questions before any option. */
export function BriefingView({
  briefing,
  closed,
}: {
  readonly briefing: Briefing;
  /** A settled question is told by its headline. */
  readonly closed: boolean;
}) {
  const { headline, because, says, facts } = briefing;
  return (
    <>
      {headline !== null && (
        <Fold text={headline}>
          <p className="sayso-message sayso-headline" dir="auto">
            <PlainText text={headline} />
          </p>
        </Fold>
      )}
      {!closed && because !== null && (
        <p className="sayso-because">
          <PlainText text={because} />
        </p>
      )}
      {!closed && says !== null && (
        <figure className="sayso-says">
          <figcaption>The agent says</figcaption>
          <Fold text={says}>
            <blockquote className="sayso-text" dir="auto">
              <PlainText text={says} />
            </blockquote>
          </Fold>
        </figure>
      )}
      {!closed && facts.length > 0 && (
        <dl className="sayso-facts">
          {facts.map(({ name, told }) => (
            <div key={name} className="sayso-fact">
              <dt>{name}</dt>
              <dd>
                <ToldView told={told} />
              </dd>
            </div>
          ))}
        </dl>
      )}
    </>
  );
}

function ToldView({ told }: { readonly told: Told }) {
  if (typeof told === "string") {
    return (
      <Fold text={told}>
        <span className="sayso-text" dir="auto">
          <PlainText text={told} />
        </span>
      </Fold>
    );
  }
  return (
    <ul className="sayso-figures">
      {Object.entries(told).map(([name, value]) => (
        <li key={name}>
          <span className="sayso-quiet">
            <PlainText text={name} />
          </span>{" "}
          <Fold text={figure(value)}>
            <strong>
              <PlainText text={figure(value)} />
            </strong>
          </Fold>
        </li>
      ))}
    </ul>
  );
}

function figure(value: unknown): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number" || typeof value === "bigint") return value.toLocaleString("en");
  if (typeof value === "string") return value;
  return value === null ? "none" : writeJson(value);
}
