"use client";

import { ariaDescribedByIds, type FieldProps } from "@rjsf/utils";
import { useState } from "react";
import { equalJson, parseJson, writeJson } from "../../core/json.js";
import { isUnread, outward, takeAny, written } from "./written.js";

/**
 * A field for what has no shape to draw: JSON, or plain text. What is no JSON is the text itself, so
 * that nobody has to quote a word; whether it fits is checked with all the rest.
 */
export function AnyField(props: FieldProps) {
  const { fieldPathId, disabled = false, readonly = false, onChange, rawErrors = [] } = props;
  const held: unknown = props.formData;
  const id = fieldPathId.$id;
  const [text, setText] = useState(() => show(held));
  // Another value than what is written here came from elsewhere: it is shown instead.
  const shown = equalJson(read(text), held) ? text : show(held);
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
  return text.trim() === "" ? undefined : takeAny(text, parseJson(text));
}

function show(held: unknown): string {
  if (held === undefined) return "";
  if (isUnread(held)) return written(held);
  const value = outward(held);
  return typeof value === "string" && isPlain(value) ? value : writeJson(value, 2);
}

/** True if a text can be written without quotes: it is no JSON, and the field keeps all of it. */
function isPlain(text: string): boolean {
  return text.trim() !== "" && !text.includes("\r") && parseJson(text) === undefined;
}
