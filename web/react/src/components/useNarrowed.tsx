"use client";

import { useMemo, useState, type ReactNode } from "react";

/** As many options stand in one list; among more, one finds them by typing. */
const MAX_SHOWN = 100;

export interface Narrowed<T> {
  /** In their order: what was chosen, and the first of those that were looked for. */
  readonly shown: readonly T[];
  /** The field to look for them with; null for a list that is short enough. */
  readonly find: ReactNode;
}

/**
 * A list of options that a person can work with, however long it is. `labelOf` is what is read, and
 * `name` what the field is called.
 */
export function useNarrowed<T>(
  options: readonly T[],
  labelOf: (option: T) => string,
  isChosen: (option: T) => boolean,
  name: string,
  id?: string,
): Narrowed<T> {
  const [typed, setTyped] = useState("");
  const labels = useMemo(
    () =>
      options.length <= MAX_SHOWN ? [] : options.map((option) => labelOf(option).toLowerCase()),
    // eslint-disable-next-line react-hooks/exhaustive-deps -- what an option is called does not change
    [options],
  );
  if (options.length <= MAX_SHOWN) return { shown: options, find: null };
  const text = typed.trim().toLowerCase();
  const match = new Set(options.filter((_, index) => labels[index]?.includes(text)));
  const first = new Set([...match].slice(0, MAX_SHOWN));
  const shown = options.filter((option) => first.has(option) || isChosen(option));
  const left = match.size - first.size;
  const find = (
    <div className="sayso-find">
      <input
        id={id}
        type="search"
        className="sayso-input"
        aria-label={name}
        placeholder={`Search ${options.length.toLocaleString("en")} options`}
        value={typed}
        onChange={({ target }) => {
          setTyped(target.value);
        }}
        onKeyDown={(event) => {
          // The form is not sent by looking for something in it.
          if (event.key === "Enter") event.preventDefault();
        }}
      />
      <p role="status" className="sayso-quiet">
        {match.size === 0 && "No option matches."}
        {left > 0 && `${left.toLocaleString("en")} more. Type a part of the name.`}
      </p>
    </div>
  );
  return { shown, find };
}
