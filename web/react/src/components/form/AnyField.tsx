import { ariaDescribedByIds, type FieldProps } from "@rjsf/utils";
import { useState } from "react";
import { equalJson } from "../../core/json.js";
import { parseJson } from "../../core/index.js";

/**
 * A field for what has no shape to draw: JSON, or plain text. What is no JSON is the text itself, so
 * that nobody has to quote a word; whether it fits is checked with all the rest.
 */
export function AnyField(props: FieldProps) {
  const { fieldPathId, disabled = false, readonly = false, onChange, rawErrors = [] } = props;
  const value: unknown = props.formData;
  const id = fieldPathId.$id;
  const [text, setText] = useState(() => show(value));
  // Another value than what is written here came from elsewhere: it is shown instead.
  const shown = equalJson(read(text), value) ? text : show(value);
  return (
    <textarea
      id={id}
      name={id}
      className="sayso-input sayso-code"
      rows={Math.min(10, Math.max(2, shown.split("\n").length))}
      spellCheck={false}
      autoCapitalize="off"
      placeholder="JSON, or plain text"
      value={shown}
      disabled={disabled}
      readOnly={readonly}
      required={props.required}
      aria-invalid={rawErrors.length > 0}
      aria-describedby={ariaDescribedByIds(id)}
      onChange={({ target }) => {
        setText(target.value);
        onChange(read(target.value), fieldPathId.path);
      }}
    />
  );
}

function read(text: string): unknown {
  if (text.trim() === "") return undefined;
  const parsed = parseJson(text);
  return parsed === undefined ? text : parsed;
}

function show(value: unknown): string {
  if (value === undefined) return "";
  if (typeof value === "string" && parseJson(value) === undefined) return value;
  return JSON.stringify(value, null, 2);
}
