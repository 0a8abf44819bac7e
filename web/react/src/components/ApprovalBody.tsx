"use client";

import { useCallback, useEffect, useId, useRef, useState } from "react";
import type { Answer, Extra, Problem, Shape } from "../core/index.js";
import { asRecord } from "../core/json.js";
import { withoutSecrets, withSecretsLeft } from "../core/secrets.js";
import { DenyForm, Panel } from "./DenyForm.js";
import { GrowingText } from "./GrowingText.js";
import { isText, useDraftState } from "./formDrafts.js";
import { PlainText, plainText } from "./PlainText.js";
import { ProblemList } from "./ProblemList.js";
import { ReadFirst, ReadOn } from "./ReadFirst.js";
import { SchemaForm } from "./SchemaForm.js";

export interface ApprovalBodyProps {
  readonly shape: Extract<Shape, { kind: "approval" }>;
  /** The arguments that will run if nothing is changed. */
  readonly args: Readonly<Record<string, unknown>>;
  readonly problems: readonly Problem[];
  readonly onAnswer: (answer: Answer) => void;
}

type Mode = "choose" | "edit" | "deny";

/** The answers beside the yes or no. */
type Given = Readonly<Record<string, string | boolean>>;

const EDITED = "/editedArgs";

/** Yes, yes with changes, no, or no answer at all. */
export function ApprovalBody({ shape, args, problems, onAnswer }: ApprovalBodyProps) {
  const [mode, setDraftMode] = useDraftState<Mode>("mode", "choose", isMode);
  const [extras, setExtras] = useDraftState<Given>("extras", {}, isGiven);
  const [opened, setOpened] = useState(false);
  const [missing, setMissing] = useState<readonly Problem[]>([]);
  const choose = useRef<HTMLDivElement>(null);
  const returning = useRef(false);

  useEffect(() => {
    if (mode === "choose" && returning.current)
      choose.current?.querySelector<HTMLElement>("button:enabled")?.focus();
    returning.current = mode !== "choose";
  }, [mode]);

  const setMode = (next: Mode) => {
    setOpened(true);
    setDraftMode(next);
  };
  const back = () => {
    setMode("choose");
  };
  const answer = (approved: boolean, more: Readonly<Record<string, unknown>> = {}) => {
    const unset = shape.extras.filter(
      (extra) => extra.required && extras[extra.name] === undefined,
    );
    setMissing(unset.map(({ name }) => ({ pointer: `/${name}`, message: "Required." })));
    if (unset.length > 0) return;
    const said = filled(extras);
    // Only a yes can be remembered (design 3).
    if (!approved) delete said.remember;
    const payload = shape.bare ? approved : { approved, ...more, ...said };
    onAnswer({ status: "resolved", payload });
  };
  const deny = () => {
    if (shape.reason === "none") answer(false);
    else setMode("deny");
  };
  const meant = useCallback((edited: unknown) => withSecretsLeft(edited, args), [args]);
  const inForm =
    mode === "edit" ? problems.filter((problem) => problem.pointer.startsWith(EDITED)) : [];
  const elsewhere = [...problems.filter((problem) => !inForm.includes(problem)), ...missing];

  return (
    <div className="sayso-stack">
      <ProblemList problems={elsewhere} />
      {shape.extras.length > 0 && (
        <Extras extras={shape.extras} values={extras} onChange={setExtras} />
      )}
      {mode === "edit" && shape.edit !== null && (
        <Panel onEscape={back} restored={!opened}>
          <SchemaForm
            name="editedArgs"
            label="Arguments as JSON"
            schema={shape.edit}
            value={withoutSecrets(args)}
            problems={inForm.map((problem) => ({
              ...problem,
              pointer: problem.pointer.slice(EDITED.length),
            }))}
            meant={meant}
            onSubmit={(editedArgs) => {
              answer(true, { editedArgs });
            }}
          >
            <div className="sayso-actions">
              <ReadFirst label="Approve with changes" />
              <button type="button" className="sayso-button" onClick={back}>
                Back
              </button>
              <ReadOn />
            </div>
          </SchemaForm>
        </Panel>
      )}
      {mode === "deny" && (
        <Panel onEscape={back} restored={!opened}>
          <DenyForm
            required={shape.reason === "required"}
            onBack={back}
            onDeny={(reason) => {
              answer(false, reason === "" ? {} : { reason });
            }}
          />
        </Panel>
      )}
      <div className="sayso-actions" ref={choose} hidden={mode !== "choose"}>
        <ReadFirst
          label={shape.bare ? "Yes" : "Approve"}
          onPress={() => {
            answer(true);
          }}
        />
        {shape.edit !== null && (
          <button
            type="button"
            className="sayso-button"
            data-act="edit"
            onClick={() => {
              setMode("edit");
            }}
          >
            Edit arguments
          </button>
        )}
        <button type="button" className="sayso-button" data-act="deny" onClick={deny}>
          {shape.bare ? "No" : "Deny"}
        </button>
        <ReadOn act="approve" />
        <CancelButton onAnswer={onAnswer} />
      </div>
    </div>
  );
}

/** Declines to answer, which is not the same as a no. */
export function CancelButton({ onAnswer }: { readonly onAnswer: (answer: Answer) => void }) {
  return (
    <button
      type="button"
      className="sayso-button sayso-plain"
      title="Give no answer. The agent is told that nobody decided."
      onClick={() => {
        onAnswer({ status: "cancelled" });
      }}
    >
      Withdraw request
    </button>
  );
}

function Extras(props: {
  readonly extras: readonly Extra[];
  readonly values: Given;
  readonly onChange: (values: Given) => void;
}) {
  const prefix = useId();
  const set = (name: string, value: string | boolean) => {
    props.onChange({ ...props.values, [name]: value });
  };
  return (
    <div className="sayso-form">
      {props.extras.map(({ name, title, description, type, required }) => {
        const id = `${prefix}-${name}`;
        const value = props.values[name];
        const hint = description === null ? undefined : `${id}-hint`;
        const mark = required ? " (required)" : " (optional)";
        const box = type === "boolean";
        return (
          <div key={name} className={box ? "sayso-check" : "sayso-field"}>
            <label htmlFor={id}>{`${plainText(title)}${box ? "" : mark}`}</label>
            {box ? (
              <input
                id={id}
                type="checkbox"
                checked={value === true}
                aria-describedby={hint}
                onChange={({ target }) => {
                  set(name, target.checked);
                }}
              />
            ) : (
              <GrowingText
                id={id}
                className="sayso-input"
                value={typeof value === "string" ? value : ""}
                aria-describedby={hint}
                onChange={({ target }) => {
                  set(name, target.value);
                }}
              />
            )}
            {description !== null && (
              <p className="sayso-quiet" id={hint}>
                <PlainText text={description} />
              </p>
            )}
          </div>
        );
      })}
    </div>
  );
}

function isMode(value: unknown): value is Mode {
  return value === "choose" || value === "edit" || value === "deny";
}

function isGiven(value: unknown): value is Given {
  const record = asRecord(value);
  if (record === undefined) return false;
  return Object.values(record).every((item) => isText(item) || typeof item === "boolean");
}

function filled(values: Given): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));
}
