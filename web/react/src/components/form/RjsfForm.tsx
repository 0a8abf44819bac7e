"use client";

// Not from the index: that one also loads the library's tests, with a validator that compiles code.
import Form from "@rjsf/core/lib/components/Form.js";
import { englishStringTranslator, TranslatableString, type RJSFSchema } from "@rjsf/utils";
import { useMemo, useState, type ReactNode } from "react";
import type { JsonSchema, Problem } from "../../core/index.js";
import { AnyField } from "./AnyField.js";
import { forForm } from "./formSchema.js";
import { NumberField } from "./NumberField.js";
import { templates, widgets, type FormContext } from "./theme.js";
import { withoutUntouched } from "./untouched.js";
import { toErrorSchema, validatorFor } from "./validator.js";
import { inward, outward } from "./written.js";

export interface RjsfFormProps {
  readonly schema: JsonSchema;
  readonly value: unknown;
  readonly problems: readonly Problem[];
  readonly idPrefix: string;
  readonly onChange: (value: unknown) => void;
  readonly onSubmit: (value: unknown) => void;
  /** What a value that was filled in stands for: that is checked and submitted. */
  readonly meant: (value: unknown) => unknown;
  /** Something in the schema cannot be drawn. */
  readonly onUndrawn: () => void;
  /** The buttons below the fields, one of which submits. */
  readonly children: ReactNode;
}

/**
 * An untouched field is its default or absent; a yes or no that nobody gave is not a no (S2), and of
 * several options none is taken that nobody chose.
 */
const DEFAULTS = {
  constAsDefaults: "skipOneOf",
  emptyObjectFields: "skipEmptyDefaults",
  requiredBooleanDefault: "skip",
} as const;

/** A value without a type that the library could draw is written as JSON in its own field. */
const FIELDS = { FallbackField: AnyField, NumberField };

/** The library's words, but for what it calls members that a person names, and cycles. */
function words(text: TranslatableString, parameters?: string[]): string {
  if (text === TranslatableString.KeyLabel) return "Name";
  if (text === TranslatableString.NewStringDefault) return "";
  if (text === TranslatableString.CycleDetected) return "It can contain another of the same kind.";
  if (text === TranslatableString.ExpandButton) return "Show fields";
  return englishStringTranslator(text, parameters);
}

/** A form for any JSON Schema. This module is the large one: import it only when it is needed. */
export default function RjsfForm(props: RjsfFormProps) {
  const { schema, value, problems, idPrefix, meant, onChange, onSubmit, onUndrawn } = props;
  const { children } = props;
  // The filled-in values are kept here: outside, what cannot be read yet is not told from text.
  const [held, setHeld] = useState(() => inward(value));
  const drawn = useMemo(() => inward(forForm(schema)) as RJSFSchema, [schema]);
  const [validator, sent] = useMemo(() => {
    const input = (formData: unknown): unknown => withoutUntouched(made, drawn, DEFAULTS, formData);
    const made = validatorFor(schema, input, meant);
    return [made, input] as const;
  }, [schema, drawn, meant]);
  const context: FormContext = useMemo(() => ({ onUndrawn }), [onUndrawn]);
  const extraErrors = useMemo(() => toErrorSchema(problems), [problems]);
  return (
    <Form
      className="sayso-form"
      schema={drawn}
      formData={held}
      validator={validator}
      templates={templates}
      widgets={widgets}
      fields={FIELDS}
      formContext={context}
      translateString={words}
      idPrefix={idPrefix}
      extraErrors={extraErrors}
      showErrorList={false}
      focusOnFirstError
      noHtml5Validate
      experimental_defaultFormStateBehavior={DEFAULTS}
      onChange={({ formData }) => {
        setHeld(formData);
        onChange(outward(formData));
      }}
      // Without a listener the library writes to the console; the fields say it already.
      onError={() => undefined}
      onSubmit={({ formData }) => {
        onSubmit(meant(outward(sent(formData))));
      }}
    >
      {children}
    </Form>
  );
}
