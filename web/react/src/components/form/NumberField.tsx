"use client";

import StringField from "@rjsf/core/lib/components/fields/StringField.js";
import { ariaDescribedByIds, type FieldProps } from "@rjsf/utils";
import { useState } from "react";
import { takeNumber, written } from "./written.js";

/**
 * A number as text, read by JSON's grammar: what is typed stays as it is typed, no wheel and no arrow
 * changes it, and no digit is lost.
 */
export function NumberField(props: FieldProps) {
  const { fieldPathId, schema, registry, onChange, rawErrors = [] } = props;
  const { disabled = false, readonly = false } = props;
  const held: unknown = props.formData;
  const id = fieldPathId.$id;
  const [original] = useState(held);
  const [text, setText] = useState(() => written(held));
  if (registry.schemaUtils.isSelect(schema)) return <StringField {...props} />;
  const empty = original === null ? null : undefined;
  const read = (typed: string) => (typed.trim() === "" ? empty : takeNumber(typed));
  return (
    <input
      id={id}
      name={id}
      type="text"
      inputMode={isBelowZero(schema, held) ? "text" : "decimal"}
      autoComplete="off"
      className="sayso-input"
      value={Object.is(read(text), held ?? empty) ? text : written(held)}
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

/** Some phones have no minus among their digits: where one is asked for, they show all keys. */
function isBelowZero({ minimum, exclusiveMinimum }: FieldProps["schema"], held: unknown): boolean {
  return [minimum, exclusiveMinimum, held].some((item) => typeof item === "number" && item < 0);
}
