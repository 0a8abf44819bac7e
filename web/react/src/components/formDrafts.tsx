"use client";

import { createContext, useCallback, useContext, useEffect, useState, type ReactNode } from "react";
import { digestOf } from "../core/drafts.js";
import { asRecord, parseJson, writeJson } from "../core/json.js";
import type { Interrupt } from "../core/index.js";

/** Where half-written answers are kept: what was typed into a question's card, by a name each. */
export interface FormDrafts {
  read(interrupt: Interrupt): Readonly<Record<string, unknown>>;
  /** Keeps these instead of all that were kept of it; none of them: forgets it. */
  write(interrupt: Interrupt, values: Readonly<Record<string, unknown>>): void;
}

/**
 * Half-written answers in the tab's `sessionStorage`: they outlive a reload and end with the tab.
 * A question that takes a secret, and one that was put differently since, has nothing kept.
 */
export function sessionForms(prefix = "sayso"): FormDrafts {
  const keyOf = ({ id }: Interrupt) => `${prefix}:form:${id}`;
  return {
    read: (interrupt) => {
      const text = quiet(() => sessionStorage.getItem(keyOf(interrupt)));
      const kept = asRecord(parseJson(text ?? ""));
      return kept?.question === digestOf(interrupt) ? (asRecord(kept.values) ?? {}) : {};
    },
    write: (interrupt, values) => {
      const key = keyOf(interrupt);
      const keep = Object.keys(values).length > 0 && !takesSecret(interrupt.responseSchema);
      const kept = { question: digestOf(interrupt), values };
      quiet(() => {
        if (keep) sessionStorage.setItem(key, writeJson(kept));
        else sessionStorage.removeItem(key);
      });
    },
  };
}

const FormsContext = createContext<FormDrafts | null>(null);

/** Keeps what is typed into the cards below it until it is answered. */
export function FormDraftProvider(props: {
  readonly forms: FormDrafts;
  readonly children: ReactNode;
}) {
  return <FormsContext.Provider value={props.forms}>{props.children}</FormsContext.Provider>;
}

/** What the fields of one card keep, by a name each. */
interface Fields {
  readonly get: (name: string) => unknown;
  readonly put: (name: string, value: unknown) => void;
  readonly forget: () => void;
}

const NOTHING: Fields = { get: () => undefined, put: () => undefined, forget: () => undefined };

const FieldsContext = createContext<Fields>(NOTHING);

/** The fields of one card; what they keep is forgotten once the question is not open any more. */
export function KeptFields(props: {
  readonly interrupt: Interrupt;
  readonly open: boolean;
  readonly children: ReactNode;
}) {
  const { interrupt, open, children } = props;
  const forms = useContext(FormsContext);
  const [fields] = useState(() => (forms === null ? NOTHING : fieldsOf(forms, interrupt)));
  useEffect(() => {
    if (!open) fields.forget();
  }, [open, fields]);
  return <FieldsContext.Provider value={fields}>{children}</FieldsContext.Provider>;
}

function fieldsOf(forms: FormDrafts, interrupt: Interrupt): Fields {
  let values = forms.read(interrupt);
  return {
    get: (name) => values[name],
    put: (name, value) => {
      values = { ...values, [name]: value };
      forms.write(interrupt, values);
    },
    forget: () => {
      values = {};
      forms.write(interrupt, values);
    },
  };
}

/** State of a card's field that is kept with the others of its card; `fits` tells what it can be. */
export function useKept<T>(
  name: string,
  initial: T,
  fits: (value: unknown) => value is T,
): readonly [T, (value: T) => void] {
  const fields = useContext(FieldsContext);
  const [value, setValue] = useState<T>(() => {
    const kept = fields.get(name);
    return kept !== undefined && fits(kept) ? kept : initial;
  });
  const set = useCallback(
    (next: T) => {
      setValue(next);
      fields.put(name, next);
    },
    [fields, name],
  );
  return [value, set];
}

export function isText(value: unknown): value is string {
  return typeof value === "string";
}

export function isYesNo(value: unknown): value is boolean {
  return typeof value === "boolean";
}

/** True if a schema has a secret anywhere: such an answer is not left lying about. */
function takesSecret(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.some(takesSecret);
  const record = asRecord(schema);
  if (record === undefined) return false;
  if (record.writeOnly === true || record.format === "password") return true;
  return Object.values(record).some(takesSecret);
}

function quiet<T>(act: () => T): T | null {
  try {
    return act();
  } catch {
    // Without storage (denied, full, none) nothing is kept, and the form works all the same.
    return null;
  }
}
