"use client";

import { createContext, useCallback, useContext, useEffect, useState, type ReactNode } from "react";
import { digestOf } from "../core/drafts.js";
import { asRecord, parseJson, writeJson } from "../core/json.js";
import { takesSecret } from "../core/secrets.js";
import type { Interrupt } from "../core/index.js";

/** Stores half-written answers: what was typed into a question's card, by the name of the field. */
export interface FormDrafts {
  read(interrupt: Interrupt): Readonly<Record<string, unknown>>;
  /** Keeps these instead of all that were kept of it; none of them: forgets it. */
  write(interrupt: Interrupt, values: Readonly<Record<string, unknown>>): void;
}

/**
 * Half-written answers in the tab's `sessionStorage`: they outlive a reload and end with the tab.
 * A question that takes a secret, and one that was put differently since, has nothing kept.
 */
export function sessionFormDrafts(prefix = "sayso"): FormDrafts {
  const keyOf = ({ id }: Interrupt) => `${prefix}:form:${id}`;
  return {
    read: (interrupt) => {
      if (takesSecret(interrupt)) return {};
      const text = quiet(() => sessionStorage.getItem(keyOf(interrupt)));
      const stored = asRecord(parseJson(text ?? ""));
      return stored?.question === digestOf(interrupt) ? (asRecord(stored.values) ?? {}) : {};
    },
    write: (interrupt, values) => {
      const key = keyOf(interrupt);
      const keep = Object.keys(values).length > 0 && !takesSecret(interrupt);
      const stored = { question: digestOf(interrupt), values };
      quiet(() => {
        if (keep) sessionStorage.setItem(key, writeJson(stored));
        else sessionStorage.removeItem(key);
      });
    },
  };
}

const DraftsContext = createContext<FormDrafts | null>(null);

/** Keeps what is typed into the cards below it until it is answered. */
export function FormDraftProvider(props: {
  readonly drafts: FormDrafts;
  readonly children: ReactNode;
}) {
  return <DraftsContext.Provider value={props.drafts}>{props.children}</DraftsContext.Provider>;
}

/** The draft of one card: the values of its fields, by name. */
interface CardDraft {
  readonly get: (name: string) => unknown;
  readonly put: (name: string, value: unknown) => void;
  readonly clear: () => void;
}

const NO_DRAFT: CardDraft = {
  get: () => undefined,
  put: () => undefined,
  clear: () => undefined,
};

const CardDraftContext = createContext<CardDraft>(NO_DRAFT);

/** Keeps the fields of one card below it; they are forgotten once the question is not open. */
export function CardDraftProvider(props: {
  readonly interrupt: Interrupt;
  readonly open: boolean;
  readonly children: ReactNode;
}) {
  const { interrupt, open, children } = props;
  const drafts = useContext(DraftsContext);
  const [draft] = useState(() => (drafts === null ? NO_DRAFT : cardDraft(drafts, interrupt)));
  useEffect(() => {
    if (!open) draft.clear();
  }, [open, draft]);
  return <CardDraftContext.Provider value={draft}>{children}</CardDraftContext.Provider>;
}

function cardDraft(drafts: FormDrafts, interrupt: Interrupt): CardDraft {
  let values = drafts.read(interrupt);
  return {
    get: (name) => values[name],
    put: (name, value) => {
      values = { ...values, [name]: value };
      drafts.write(interrupt, values);
    },
    clear: () => {
      values = {};
      drafts.write(interrupt, values);
    },
  };
}

/** State of a card's field that is kept in the card's draft; `isValid` tells what it can be. */
export function useDraftState<T>(
  name: string,
  initial: T,
  isValid: (value: unknown) => value is T,
): readonly [T, (value: T) => void] {
  const draft = useContext(CardDraftContext);
  const [value, setValue] = useState<T>(() => {
    const stored = draft.get(name);
    return stored !== undefined && isValid(stored) ? stored : initial;
  });
  const set = useCallback(
    (next: T) => {
      setValue(next);
      draft.put(name, next);
    },
    [draft, name],
  );
  return [value, set];
}

export function isText(value: unknown): value is string {
  return typeof value === "string";
}

export function isBoolean(value: unknown): value is boolean {
  return typeof value === "boolean";
}

function quiet<T>(act: () => T): T | null {
  try {
    return act();
  } catch {
    // Without storage (denied, full, none) nothing is kept, and the form works all the same.
    return null;
  }
}
