import { NAMELESS_RULE } from "../core/codes.js";
import { agreedChanges } from "../core/briefing.js";
import { asRecord, asText } from "../core/json.js";
import { personName, type Answer, type Interrupt } from "../core/index.js";
import { ArgumentTable } from "./ArgumentTable.js";
import { PlainText } from "./PlainText.js";

/**
 * The server's notes beside a question: at a breakpoint a note, and what came of what it stands
 * behind, with a result that was given in its place before it; of a call the rule that asks, by its
 * name; of one that failed the error, where the message had no room for all of it.
 */
export function Beside({
  interrupt,
  answer = null,
}: {
  readonly interrupt: Interrupt;
  readonly answer?: Answer | null;
}) {
  const details = asRecord(asRecord(interrupt.metadata)?.sayso) ?? {};
  if (interrupt.reason === "tool_call") {
    const rule = ruleOf(details);
    return rule === null ? null : (
      <p className="sayso-quiet">
        Asked by rule{" "}
        <bdi>
          <PlainText text={rule} />
        </bdi>
      </p>
    );
  }
  if (interrupt.reason === "sayso:failed") {
    const { error } = details;
    const whole = typeof error !== "string" || interrupt.message?.includes(error) === true;
    return whole ? null : (
      <section className="sayso-beside" aria-label="Error">
        <p className="sayso-label">Error</p>
        <ArgumentTable value={error} label="Error" />
      </section>
    );
  }
  if (interrupt.reason !== "sayso:breakpoint") return null;
  const input = answer?.status === "resolved" ? asRecord(answer.payload) : undefined;
  const changed = input !== undefined && "result" in input;
  return (
    <>
      {typeof details.note === "string" && (
        <p className="sayso-quiet" dir="auto">
          <PlainText text={details.note} />
        </p>
      )}
      {changed && (
        <section className="sayso-beside" aria-label="Edited result">
          <p className="sayso-label">Edited result</p>
          <ArgumentTable value={input.result} label="Edited result" />
        </section>
      )}
      {"result" in details && (
        <section className="sayso-beside" aria-label="Result">
          <p className="sayso-label">Result</p>
          <ArgumentTable value={details.result} label="Result" />
        </section>
      )}
      {typeof details.error === "string" && (
        <section className="sayso-beside" aria-label="Error">
          <p className="sayso-label">Error</p>
          <ArgumentTable value={details.error} label="Error" />
        </section>
      )}
    </>
  );
}

/** The server's warning that its directory knows too few people who may answer. */
export function Unfilled({ interrupt }: { readonly interrupt: Interrupt }) {
  const text = asText(asRecord(asRecord(interrupt.metadata)?.sayso)?.unfilled);
  return text === undefined ? null : (
    <p className="sayso-quiet" role="note">
      <PlainText text={text} />
    </p>
  );
}

/** The arguments that others have agreed to in place of the proposed ones. */
export function Agreed({ interrupt }: { readonly interrupt: Interrupt }) {
  const agreed = agreedChanges(interrupt);
  if (agreed === null) return null;
  return (
    <section className="sayso-beside" role="status">
      <p className="sayso-label">
        <PlainText text={`Approved by ${agreed.by.map(personName).join(", ")} with changes`} />
      </p>
      <ArgumentTable value={agreed.told} label="Changes that others approved" />
    </section>
  );
}

/** The author's name of the rule that asks; null without one, and where `because` says it. */
function ruleOf(details: Readonly<Record<string, unknown>>): string | null {
  const rule = asText(details.rule) ?? "always";
  if (
    asText(details.because)?.includes(`Rule '${rule.slice(rule.lastIndexOf(":") + 1)}' `) === true
  )
    return null;
  return rule === details.tool || NAMELESS_RULE.test(rule) ? null : rule;
}
