import type { FormEvent } from "react";

interface Property {
  type?: string | undefined;
  title?: string | undefined;
  enum?: readonly (string | number)[] | undefined;
  const?: unknown;
  oneOf?: readonly { const: string; title?: string }[] | undefined;
}

interface Props {
  schema: Record<string, unknown> | undefined;
  send: (payload: unknown) => void;
}

// A small form for a question's schema: texts, numbers, choices, yes or no. The server checks the
// answer whole and says what does not fit, so nothing is checked twice here.
export function Fields({ schema, send }: Props) {
  const properties = (schema?.["properties"] ?? {}) as Record<string, Property>;
  const names = Object.keys(properties);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    if (names.length === 0) return send(schema?.["type"] === "boolean" || form.get("answer"));
    const entries = names
      .map((name) => [name, read(properties[name] ?? {}, form.get(name))] as const)
      .filter(([, value]) => value !== undefined);
    send(Object.fromEntries(entries));
  };
  return (
    <form onSubmit={submit}>
      {names.map((name) => (
        <label key={name}>
          {properties[name]?.title ?? name}
          <Field name={name} property={properties[name] ?? {}} />
        </label>
      ))}
      {names.length === 0 && schema?.["type"] !== "boolean" ? (
        <label>
          Answer
          <input name="answer" />
        </label>
      ) : null}
      <button type="submit">Send</button>
    </form>
  );
}

function Field({ name, property }: { name: string; property: Property }) {
  const choices = property.oneOf?.map((one) => one.const) ?? property.enum;
  if (choices) {
    return (
      <select name={name}>
        {choices.map((choice) => (
          <option key={choice}>{choice}</option>
        ))}
      </select>
    );
  }
  if (property.type === "boolean") return <input type="checkbox" name={name} />;
  const isNumber = property.type === "number" || property.type === "integer";
  return <input name={name} inputMode={isNumber ? "decimal" : "text"} />;
}

function read(property: Property, typed: FormDataEntryValue | null): unknown {
  if (property.type === "boolean") return typed !== null;
  if (typed === null || typed === "") return undefined;
  const isNumber = property.type === "number" || property.type === "integer";
  return isNumber && !Number.isNaN(Number(typed)) ? Number(typed) : typed;
}
