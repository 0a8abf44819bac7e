import { useId, useState, type ReactNode, type SyntheticEvent } from "react";
import { parseJson, type JsonSchema, type Problem } from "../core/index.js";
import { check } from "../validate/index.js";
import { ProblemList } from "./ProblemList.js";

export interface JsonEditorProps {
  readonly label: string;
  readonly schema: JsonSchema | null;
  readonly value: unknown;
  readonly problems: readonly Problem[];
  readonly onChange: (value: unknown) => void;
  readonly onSubmit: (value: unknown) => void;
  /** The buttons below the text, one of which submits. */
  readonly children: ReactNode;
}

/** JSON as text, checked while it is written: what is submitted is a value, with its types. */
export function JsonEditor(props: JsonEditorProps) {
  const { label, schema, value, problems, onChange, onSubmit, children } = props;
  const id = useId();
  const [text, setText] = useState(() => (value === undefined ? "" : show(value)));
  const [tried, setTried] = useState(false);
  const parsed = parseJson(text);
  const legal = parsed !== undefined;
  const found: readonly Problem[] = legal
    ? schema === null
      ? []
      : check(schema, parsed).problems
    : [{ pointer: "", message: "This is not JSON yet." }];
  const shown = tried ? [...found, ...problems] : problems;

  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    setTried(true);
    if (found.length === 0) onSubmit(parsed);
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
        aria-describedby={`${id}-problems`}
        onChange={({ target }) => {
          setText(target.value);
          const next = parseJson(target.value);
          if (next !== undefined) onChange(next);
        }}
      />
      <ProblemList id={`${id}-problems`} problems={shown} />
      {children}
    </form>
  );
}

function show(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
