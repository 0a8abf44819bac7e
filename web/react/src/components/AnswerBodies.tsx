import { useId, useMemo, useState, type SyntheticEvent } from "react";
import type { Answer, JsonSchema, Problem, Shape } from "../core/index.js";
import { asRecord } from "../core/json.js";
import { restFor } from "../core/rest.js";
import { check } from "../validate/index.js";
import { CancelButton } from "./ApprovalBody.js";
import { isText, useKept } from "./kept.js";
import { PlainText, plainText } from "./PlainText.js";
import { ProblemList } from "./ProblemList.js";
import { SchemaForm } from "./SchemaForm.js";

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
  },
) {
  const { shape, schema, problems, onAnswer } = props;
  const name = useId();
  const [chosen, setChosen] = useKept<number | null>("chosen", null, isPlace);
  const [found, setFound] = useState<readonly Problem[]>([]);
  const [wantsMore, setWantsMore] = useKept("more", false, isYesNo);
  const choice = chosen === null ? undefined : shape.choices[chosen];
  const rest = useMemo(
    () => (choice === undefined ? null : restFor(schema, choice.value)),
    [schema, choice],
  );
  const needsMore =
    choice !== undefined && rest !== null && !complete(schema, { action: choice.value });
  const withRest = rest !== null && (needsMore || wantsMore);

  const submit = (more: unknown) => {
    if (choice === undefined) {
      setFound([{ pointer: "", message: "Choose one of these first." }]);
      return;
    }
    const payload = { ...(more as Record<string, unknown> | undefined), action: choice.value };
    const verdict = check(schema, payload);
    setFound(verdict.problems);
    if (verdict.problems.length === 0) onAnswer(resolved(payload));
  };
  const actions = (
    <div className="sayso-actions">
      <button type="submit" className="sayso-button sayso-primary">
        <PlainText text={choice?.title ?? "Go on"} />
      </button>
      {rest !== null && !withRest && (
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
      <CancelButton onAnswer={onAnswer} />
    </div>
  );
  return (
    <div>
      <fieldset className="sayso-choices">
        <legend className="sayso-sr">Choose what happens next</legend>
        {shape.choices.map(({ title, description }, index) => (
          <label key={index} className="sayso-choice" data-chosen={chosen === index}>
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
        ))}
      </fieldset>
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
            submit(undefined);
          }}
        >
          {actions}
        </form>
      )}
    </div>
  );
}

/** A button for each way to go, where none of them asks for anything more. */
export function ButtonsBody(
  props: BodyProps & { readonly shape: Extract<Shape, { kind: "choice" }> },
) {
  const { shape, problems, onAnswer } = props;
  const prefix = useId();
  return (
    <div className="sayso-stack">
      <ProblemList problems={problems} />
      <div className="sayso-actions">
        {shape.choices.map(({ value, title, description }, index) => (
          <button
            key={index}
            type="button"
            className={index === 0 ? "sayso-button sayso-primary" : "sayso-button"}
            aria-describedby={description === null ? undefined : `${prefix}-${index}`}
            title={description === null ? undefined : plainText(description)}
            onClick={() => {
              onAnswer(resolved({ action: value }));
            }}
          >
            <PlainText text={title} />
            {description !== null && (
              <span id={`${prefix}-${index}`} hidden>
                <PlainText text={description} />
              </span>
            )}
          </button>
        ))}
      </div>
    </div>
  );
}

/** Free text, for a question without a schema. */
export function TextBody({ problems, onAnswer }: BodyProps) {
  const id = useId();
  const [text, setText] = useKept("text", "", isText);
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

function isYesNo(value: unknown): value is boolean {
  return typeof value === "boolean";
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
