"use client";

import { useEffect, useId, useRef, useState } from "react";
import type { Instead } from "../core/breakpoint.js";
import type { Answer, Problem, Shape } from "../core/index.js";
import { Panel } from "./DenyForm.js";
import { isBoolean, useDraftState } from "./formDrafts.js";
import { PlainText, plainText } from "./PlainText.js";
import { ProblemList } from "./ProblemList.js";
import { SchemaForm } from "./SchemaForm.js";

interface ButtonsBodyProps {
  readonly shape: Extract<Shape, { kind: "choice" }>;
  /** The value that may replace the one shown; null, the default, where none may. */
  readonly instead?: Instead | null;
  /** False where something else on the card comes first. Default true. */
  readonly primary?: boolean;
  readonly problems: readonly Problem[];
  readonly onAnswer: (answer: Answer) => void;
}

const WORDS = {
  editedArgs: { edit: "Edit arguments", label: "Arguments as JSON" },
  result: { edit: "Edit result", label: "Result as JSON" },
} as const;

/** A button for each way to go; where the agent may go on with something else, a form for that. */
export function ButtonsBody(props: ButtonsBodyProps) {
  const { shape, instead = null, primary = true, problems, onAnswer } = props;
  const prefix = useId();
  const [editing, setDraftEditing] = useDraftState("editing", false, isBoolean);
  const [opened, setOpened] = useState(false);
  const [missing, setMissing] = useState<readonly Problem[]>([]);
  const buttons = useRef<HTMLDivElement>(null);
  const returning = useRef(false);
  const open = editing && instead !== null;
  const pointer = `/${instead?.member ?? ""}`;
  const inForm = open ? problems.filter((problem) => isBelow(problem.pointer, pointer)) : [];
  const elsewhere = problems.filter((problem) => !inForm.includes(problem));

  useEffect(() => {
    if (!open && returning.current) buttons.current?.querySelector("button")?.focus();
    returning.current = open;
  }, [open]);

  const edit = (on: boolean) => {
    setOpened(true);
    setMissing([]);
    setDraftEditing(on);
  };
  const goOn = (input: unknown) => {
    if (instead === null) return;
    if (input === undefined) {
      setMissing([{ pointer: "", message: "Enter a value first." }]);
      return;
    }
    onAnswer({ status: "resolved", payload: { action: "continue", [instead.member]: input } });
  };
  const ways = shape.choices.map(({ value, title, description }, index) => (
    <button
      key={index}
      type="button"
      className={primary && index === 0 ? "sayso-button sayso-primary" : "sayso-button"}
      aria-describedby={description === null ? undefined : `${prefix}-${index}`}
      title={description === null ? undefined : plainText(description)}
      onClick={() => {
        onAnswer({ status: "resolved", payload: { action: value } });
      }}
    >
      <PlainText text={title} />
      {description !== null && (
        <span id={`${prefix}-${index}`} hidden>
          <PlainText text={description} />
        </span>
      )}
    </button>
  ));
  return (
    <div className="sayso-stack">
      <ProblemList problems={elsewhere} />
      {open && (
        <Panel
          onEscape={() => {
            edit(false);
          }}
          restored={!opened}
        >
          <SchemaForm
            name={instead.member}
            label={WORDS[instead.member].label}
            schema={instead.schema}
            value={instead.shown}
            problems={[
              ...missing,
              ...inForm.map((problem) => ({
                ...problem,
                pointer: problem.pointer.slice(pointer.length),
              })),
            ]}
            onSubmit={goOn}
          >
            <div className="sayso-actions">
              <button type="submit" className="sayso-button sayso-primary">
                Continue with changes
              </button>
              <button
                type="button"
                className="sayso-button"
                onClick={() => {
                  edit(false);
                }}
              >
                Back
              </button>
            </div>
          </SchemaForm>
        </Panel>
      )}
      <div className="sayso-actions" ref={buttons} hidden={open}>
        {ways.slice(0, 1)}
        {instead !== null && (
          <button
            type="button"
            className="sayso-button"
            data-act="edit"
            onClick={() => {
              edit(true);
            }}
          >
            {WORDS[instead.member].edit}
          </button>
        )}
        {ways.slice(1)}
      </div>
    </div>
  );
}

function isBelow(pointer: string, place: string): boolean {
  return pointer === place || pointer.startsWith(`${place}/`);
}
