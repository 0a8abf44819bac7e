import { asRecord } from "../core/json.js";

/** A value in full: every member of an object on its own line, long text with its line breaks. */
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
            <bdi>{name}</bdi>
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
  if (typeof value === "string") {
    if (value === "") return <span className="sayso-quiet">empty text</span>;
    return (
      <span className="sayso-text" dir="auto">
        {value}
      </span>
    );
  }
  if (typeof value === "object" && value !== null) {
    return <pre className="sayso-json">{JSON.stringify(value, null, 2)}</pre>;
  }
  return (
    <code className="sayso-literal">
      {value === undefined ? "not given" : JSON.stringify(value)}
    </code>
  );
}
