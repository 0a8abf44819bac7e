import { asRecord, writeJson } from "../core/json.js";
import { isSecret, withoutSecrets } from "../core/secrets.js";
import { Fold } from "./Fold.js";
import { PlainText } from "./PlainText.js";

/** A value: every member of an object on its own line, text with its line breaks, long ones folded. */
export function ArgumentTable({
  value,
  label,
}: {
  readonly value: unknown;
  readonly label: string;
}) {
  const record = asRecord(value);
  if (record === undefined) return <Value value={value} />;
  const members = Object.entries(record);
  if (members.length === 0) return <p className="sayso-quiet">No arguments.</p>;
  return (
    <dl className="sayso-args" aria-label={label}>
      {members.map(([name, member]) => (
        <div key={name} className="sayso-arg">
          <dt>
            <bdi>
              <PlainText text={name} />
            </bdi>
          </dt>
          <dd>
            <Value value={member} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Value({ value }: { readonly value: unknown }) {
  if (isSecret(value)) return <span className="sayso-quiet">secret, not shown</span>;
  if (typeof value === "string") {
    if (value === "") return <span className="sayso-quiet">empty text</span>;
    return (
      <Fold text={value}>
        <span className="sayso-text" dir="auto">
          <PlainText text={value} />
        </span>
      </Fold>
    );
  }
  if (typeof value === "object" && value !== null) {
    const text = writeJson(withoutSecrets(value), 2);
    return (
      <Fold text={text}>
        <pre className="sayso-json">
          <PlainText text={text} />
        </pre>
      </Fold>
    );
  }
  return (
    <code className="sayso-literal">{value === undefined ? "not given" : writeJson(value)}</code>
  );
}
