"use client";

import { Component, lazy, Suspense, useCallback, useId, useState, type ReactNode } from "react";
import { boundsOf } from "../core/bounds.js";
import type { JsonSchema, Problem } from "../core/index.js";
import { asRecord } from "../core/json.js";
import { itself, JsonEditor } from "./JsonEditor.js";
import { useDraftState } from "./formDrafts.js";

const RjsfForm = lazy(() => import("./form/RjsfForm.js"));

export interface SchemaFormProps {
  /** The name of its value in its card's draft (see `FormDraftProvider`). Default "value". */
  readonly name?: string;
  readonly label: string;
  readonly schema: JsonSchema;
  readonly value?: unknown;
  /** Complaints of the server, shown at the fields. */
  readonly problems?: readonly Problem[];
  /** What a value that was filled in stands for: that is checked and submitted. Default: itself. */
  readonly meant?: (value: unknown) => unknown;
  readonly onSubmit: (value: unknown) => void;
  /** The buttons, one of which submits. */
  readonly children: ReactNode;
}

/**
 * A form for any JSON Schema. The form library is loaded when the first form is shown; if it cannot
 * be loaded or cannot draw the schema, the value is written as checked JSON instead. So is one whose
 * schema would keep the page busy (SE-06); the server alone checks that one.
 */
export function SchemaForm(props: SchemaFormProps) {
  const { name = "value", label, schema, problems = [], children } = props;
  const { meant = itself, onSubmit } = props;
  const [value, setValue] = useDraftState(name, props.value, isAny);
  const [asJson, setAsJson] = useState(false);
  const idPrefix = useId();
  const { trouble } = boundsOf(schema);
  // The given value decides, not what is typed: a form that is begun stays.
  const [strange] = useState(
    () => trouble === null && (hasStrangeNames(schema) || hasStrangeNames(value)),
  );
  const [undrawn, setUndrawn] = useState(false);
  const onUndrawn = useCallback(() => {
    setUndrawn(true);
  }, []);
  const json = (
    <JsonEditor
      label={label}
      schema={schema}
      value={value}
      problems={problems}
      meant={meant}
      onChange={setValue}
      onSubmit={onSubmit}
    >
      {children}
    </JsonEditor>
  );
  if (trouble !== null) {
    return (
      <div className="sayso-schema-form">
        <p className="sayso-quiet">
          This cannot be shown as a form: its schema {trouble}. Edit it as JSON; the server checks
          it.
        </p>
        {json}
      </div>
    );
  }
  if (strange) {
    return (
      <div className="sayso-schema-form">
        <p className="sayso-quiet">
          This cannot be shown as a form, because a field has an unusable name. Edit it as JSON.
        </p>
        {json}
      </div>
    );
  }
  if (undrawn) {
    return (
      <div className="sayso-schema-form">
        <p className="sayso-quiet">
          This cannot be shown as a form, because no field can hold it. Edit it as JSON.
        </p>
        {json}
      </div>
    );
  }
  return (
    <div className="sayso-schema-form">
      {asJson ? (
        json
      ) : (
        <Fallback instead={json}>
          <Suspense fallback={<p className="sayso-quiet">Loading the form…</p>}>
            <RjsfForm
              schema={schema}
              value={value}
              problems={problems}
              idPrefix={idPrefix}
              meant={meant}
              onChange={setValue}
              onSubmit={onSubmit}
              onUndrawn={onUndrawn}
            >
              {children}
            </RjsfForm>
          </Suspense>
        </Fallback>
      )}
      <div className="sayso-form-switch">
        <button
          type="button"
          className="sayso-link"
          onClick={() => {
            setAsJson(!asJson);
          }}
        >
          {asJson ? "Back to the form" : "Edit as JSON"}
        </button>
      </div>
    </div>
  );
}

/** Names that the form library loses, or that a field for a name would change. */
function hasStrangeNames(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasStrangeNames);
  return Object.entries(asRecord(value) ?? {}).some(
    ([name, one]) => STRANGE.test(name) || hasStrangeNames(one),
  );
}

const STRANGE = /^$|[\r\n]|^__(?:proto__|errors)$/;

/** The schema says what fits; it is checked where the form is. */
function isAny(value: unknown): value is unknown {
  return value !== undefined;
}

interface FallbackProps {
  readonly instead: ReactNode;
  readonly children: ReactNode;
}

/** Shows something simpler when what is inside cannot be drawn. */
class Fallback extends Component<FallbackProps, { readonly broken: boolean }> {
  override state = { broken: false };

  static getDerivedStateFromError(): { readonly broken: boolean } {
    return { broken: true };
  }

  override render() {
    return this.state.broken ? this.props.instead : this.props.children;
  }
}
