import { ArgumentTable, PlainText } from "@sayso/react/components";
import { isRecord, textOrNull } from "../rest.js";
import { asksWhen, typeOf } from "./labels.js";

/** A declared tool: what it does, whether a person is asked first, and what it is called with. */
export function Tool({ tool }: { readonly tool: Readonly<Record<string, unknown>> }) {
  const metadata = isRecord(tool.metadata) ? tool.metadata : {};
  const ours = isRecord(metadata.sayso) ? metadata.sayso : {};
  const asks = asksWhen(ours.approval);
  const description = textOrNull(tool.description);
  return (
    <li>
      <div className="tool-head">
        <code>
          <PlainText text={String(tool.name)} />
        </code>
        {asks !== null && (
          <span className="tool-asks" data-asks={ours.approval !== "never"}>
            {asks}
            {ours.editable === true && ", arguments can be edited"}
          </span>
        )}
      </div>
      {description !== null && (
        <p className="sayso-quiet" dir="auto">
          <PlainText text={description} />
        </p>
      )}
      {tool.parameters !== undefined && <Parameters schema={tool.parameters} />}
    </li>
  );
}

function Parameters({ schema }: { readonly schema: unknown }) {
  const properties = isRecord(schema) && isRecord(schema.properties) ? schema.properties : null;
  const names = properties === null ? [] : Object.keys(properties);
  if (properties !== null && names.length === 0) return null;
  const required = isRecord(schema) && Array.isArray(schema.required) ? schema.required : [];
  return (
    <details className="sayso-details">
      <summary>
        {properties === null
          ? "Parameters"
          : names.length === 1
            ? "1 parameter"
            : `${names.length} parameters`}
      </summary>
      {properties === null ? (
        <ArgumentTable value={schema} label="Parameters" />
      ) : (
        <dl className="parameters">
          {Object.entries(properties).map(([name, property]) => {
            const item = isRecord(property) ? property : {};
            const about = textOrNull(item.description);
            return (
              <div key={name}>
                <dt>
                  <code>
                    <PlainText text={name} />
                  </code>
                </dt>
                <dd>
                  <PlainText text={typeOf(item)} />
                  {!required.includes(name) && <span className="sayso-quiet">, optional</span>}
                  {about !== null && (
                    <span className="sayso-quiet" dir="auto">
                      {" "}
                      <PlainText text={about} />
                    </span>
                  )}
                </dd>
              </div>
            );
          })}
        </dl>
      )}
    </details>
  );
}
