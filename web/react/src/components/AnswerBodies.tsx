"use client";

import { Fragment, useId, useMemo, useState, type SyntheticEvent } from "react";
import type { Answer, JsonSchema, Problem, Shape } from "../core/index.js";
import type { Permit } from "../core/briefing.js";
import { asRecord } from "../core/json.js";
import { choiceFields } from "../core/choiceFields.js";
import { check } from "../core/validate/validate.js";
import { CancelButton } from "./ApprovalBody.js";
import { ArgumentTable } from "./ArgumentTable.js";
import { isText, isBoolean, useDraftState } from "./formDrafts.js";
import { PlainText, plainText } from "./PlainText.js";
import { ProblemList } from "./ProblemList.js";
import { ReadFirst, ReadOn } from "./ReadFirst.js";
import { SchemaForm } from "./SchemaForm.js";
import { useNarrowed } from "./useNarrowed.js";

interface BodyProps {
  readonly problems: readonly Problem[];
  readonly onAnswer: (answer: Answer) => void;
}

/** Any schema as a form. */
export function FormBody(
  props: BodyProps & { readonly schema: JsonSchema; readonly value: unknown },
) {
  const { schema, value, problems, onAnswer } = props;
  return (
    <SchemaForm
      name="answer"
      label="Answer as JSON"
      schema={schema}
      value={value}
      problems={problems}
      onSubmit={(payload) => {
        onAnswer(resolved(payload));
      }}
    >
      <div className="sayso-actions">
        <button type="submit" className="sayso-button sayso-primary">
          Answer
        </button>
        <CancelButton onAnswer={onAnswer} />
      </div>
    </SchemaForm>
  );
}

/** One of several ways to go; what else the schema asks for follows the choice. */
export function ChoiceBody(
  props: BodyProps & {
    readonly shape: Extract<Shape, { kind: "choice" }>;
    readonly schema: JsonSchema;
    /** A member whose value may be null, and how that is said; where the schema takes it. */
    readonly none?: { readonly member: string; readonly label: string };
    /** The calls that choices permit, by action: what they run is shown beside them. */
    readonly permits?: ReadonlyMap<string, Permit>;
    /** True if a choice lets something happen, so that all of the card has to be read first. */
    readonly readFirst?: boolean;
  },
) {
  const { shape, schema, none, permits, readFirst = false, problems, onAnswer } = props;
  const name = useId();
  const [chosen, setChosen] = useDraftState<number | null>("chosen", null, isPlace);
  const [found, setFound] = useState<readonly Problem[]>([]);
  const [wantsMore, setWantsMore] = useDraftState("more", false, isBoolean);
  const choice = chosen === null ? undefined : shape.choices[chosen];
  const choices = useMemo(
    () => shape.choices.map((item, index) => ({ ...item, index })),
    [shape.choices],
  );
  const { shown, find } = useNarrowed(
    choices,
    (item) => plainText(item.title),
    (item) => item.index === chosen,
    "Find an option",
  );
  const rest = useMemo(
    () => (choice === undefined ? null : choiceFields(schema, choice.value)),
    [schema, choice],
  );
  const needsMore =
    choice !== undefined && rest !== null && !complete(schema, { action: choice.value });
  const nothing = none !== undefined && needsMore ? { [none.member]: null } : null;
  const mayBeNone =
    nothing !== null && complete(schema, { action: choice?.value, ...nothing }) ? none : undefined;
  const [isNone, setIsNone] = useDraftState("none", false, isBoolean);
  const saysNone = mayBeNone !== undefined && isNone;
  const withRest = rest !== null && (needsMore || wantsMore) && !saysNone;

  const submit = (more: unknown) => {
    if (choice === undefined) {
      setFound([{ pointer: "", message: "Choose an option first." }]);
      return;
    }
    const payload = { ...(more as Record<string, unknown> | undefined), action: choice.value };
    const verdict = check(schema, payload);
    setFound(verdict.problems);
    if (verdict.problems.length === 0) onAnswer(resolved(payload));
  };
  const said = <PlainText text={choice?.title ?? "Continue"} />;
  const actions = (
    <div className="sayso-actions">
      {readFirst ? (
        <ReadFirst label={said} />
      ) : (
        <button type="submit" className="sayso-button sayso-primary">
          {said}
        </button>
      )}
      {rest !== null && !withRest && !saysNone && (
        <button
          type="button"
          className="sayso-button"
          onClick={() => {
            setWantsMore(true);
          }}
        >
          {isNote(rest) ? "Add a note" : "Add details"}
        </button>
      )}
      {readFirst && <ReadOn />}
      <CancelButton onAnswer={onAnswer} />
    </div>
  );
  return (
    <div>
      <fieldset className="sayso-choices">
        <legend className="sayso-sr">Choose what happens next</legend>
        {find}
        {shown.map(({ value, title, description, index }) => (
          <Fragment key={index}>
            <label className="sayso-choice" data-chosen={chosen === index}>
              <input
                type="radio"
                name={name}
                checked={chosen === index}
                onChange={() => {
                  setChosen(index);
                  setFound([]);
                }}
              />
              <span>
                <strong>
                  <PlainText text={title} />
                </strong>
                {description !== null && (
                  <span className="sayso-quiet">
                    <PlainText text={description} />
                  </span>
                )}
              </span>
            </label>
            <Permitted
              permit={typeof value === "string" ? permits?.get(value) : undefined}
              chosen={chosen === index}
            />
          </Fragment>
        ))}
      </fieldset>
      {mayBeNone !== undefined && (
        <label className="sayso-check">
          <input
            type="checkbox"
            checked={isNone}
            onChange={({ target }) => {
              setIsNone(target.checked);
              setFound([]);
            }}
          />
          {mayBeNone.label}
        </label>
      )}
      <ProblemList problems={withRest ? [] : [...found, ...problems]} />
      {withRest ? (
        <SchemaForm
          key={chosen}
          name={`details ${chosen}`}
          label="Details as JSON"
          schema={rest}
          problems={[...found, ...problems]}
          onSubmit={submit}
        >
          {actions}
        </SchemaForm>
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            submit(saysNone ? nothing : undefined);
          }}
        >
          {actions}
        </form>
      )}
    </div>
  );
}

/** The call that a choice runs, with its arguments as they are: open once that is chosen. */
function Permitted(props: { readonly permit: Permit | undefined; readonly chosen: boolean }) {
  const { permit, chosen } = props;
  if (permit === undefined) return null;
  const label = `Arguments of ${plainText(permit.tool)}`;
  return (
    <details className="sayso-details sayso-permit" open={chosen}>
      <summary>{label}</summary>
      <ArgumentTable value={permit.args} label={label} />
    </details>
  );
}

/** Free text, for a question without a schema. */
export function TextBody({ problems, onAnswer }: BodyProps) {
  const id = useId();
  const [text, setText] = useDraftState("text", "", isText);
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    onAnswer(resolved(text));
  };
  return (
    <form className="sayso-form" onSubmit={submit}>
      <label htmlFor={id}>Your answer</label>
      <textarea
        id={id}
        className="sayso-input"
        rows={2}
        value={text}
        onChange={({ target }) => {
          setText(target.value);
        }}
      />
      <ProblemList problems={problems} />
      <div className="sayso-actions">
        <button type="submit" className="sayso-button sayso-primary">
          Answer
        </button>
        <CancelButton onAnswer={onAnswer} />
      </div>
    </form>
  );
}

function isPlace(value: unknown): value is number | null {
  return value === null || Number.isInteger(value);
}

function isNote(rest: JsonSchema): boolean {
  const names = Object.keys(asRecord(rest.properties) ?? {});
  return names.length === 1 && names[0] === "note";
}

function complete(schema: JsonSchema, payload: unknown): boolean {
  return check(schema, payload).problems.length === 0;
}

function resolved(payload: unknown): Answer {
  return payload === undefined ? { status: "resolved" } : { status: "resolved", payload };
}
