"use client";

import { useId, useState, type ReactNode, type SyntheticEvent } from "react";
import { parseJson, writeJson, type JsonSchema, type Problem } from "../core/index.js";
import { troubleIn } from "../core/numbers.js";
import { check } from "../core/validate/validate.js";
import { HiddenText } from "./HiddenText.js";
import { ProblemList } from "./ProblemList.js";

export interface JsonEditorProps {
  readonly label: string;
  readonly schema: JsonSchema | null;
  readonly value: unknown;
  readonly problems: readonly Problem[];
  readonly onChange: (value: unknown) => void;
  /** What the written value stands for: that is checked and submitted. Default: itself. */
  readonly meant?: (value: unknown) => unknown;
  readonly onSubmit: (value: unknown) => void;
  /** The buttons below the text, one of which submits. */
  readonly children: ReactNode;
}

export const itself = (value: unknown): unknown => value;

/** JSON as text, checked while it is written: what is submitted is a value, with its types. */
export function JsonEditor(props: JsonEditorProps) {
  const { label, schema, value, problems, meant = itself, onChange, onSubmit } = props;
  const { children } = props;
  const id = useId();
  const [text, setText] = useState(() => (value === undefined ? "" : writeJson(value, 2)));
  const [tried, setTried] = useState(false);
  const parsed = parseJson(text);
  const trouble = parsed === undefined ? "This is not JSON yet." : troubleIn(text);
  const judged = schema === null ? [] : check(schema, meant(parsed)).problems;
  const list = trouble === null ? judged : [{ pointer: "", message: trouble }];
  const shown = tried ? [...list, ...problems] : problems;

  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    setTried(true);
    if (list.length === 0) onSubmit(meant(parsed));
    else document.getElementById(id)?.focus();
  };

  return (
    <form className="sayso-form" onSubmit={submit} noValidate>
      <label htmlFor={id}>{label}</label>
      <textarea
        id={id}
        className="sayso-input sayso-code"
        rows={Math.min(16, Math.max(4, text.split("\n").length + 1))}
        spellCheck={false}
        autoCapitalize="off"
        value={text}
        aria-invalid={shown.length > 0}
        aria-describedby={`${id}-problems ${id}-hidden`}
        onChange={({ target }) => {
          setText(target.value);
          const next = parseJson(target.value);
          if (next !== undefined) onChange(next);
        }}
      />
      <HiddenText id={`${id}-hidden`} text={text} />
      <ProblemList id={`${id}-problems`} problems={shown} />
      {children}
    </form>
  );
}
