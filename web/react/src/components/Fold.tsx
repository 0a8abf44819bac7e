"use client";

import { createContext, useContext, useEffect, useId, useState, type ReactNode } from "react";

const MAX_CHARACTERS = 700;
const MAX_LINES = 14;

/** Shared by the folds of one card: whether all are open, and who is told of folded ones. */
export interface Folding {
  readonly unfolded: boolean;
  /** Counts one more folded part; the returned function takes it back. */
  readonly onFolded: () => () => void;
}

/** Without a card around it every fold decides for itself. */
export const FoldContext = createContext<Folding>({
  unfolded: false,
  onFolded: () => () => undefined,
});

/** A long text shows its beginning and how much there is; a short one is simply there. */
export function Fold({ text, children }: { readonly text: string; readonly children: ReactNode }) {
  const id = useId();
  const { unfolded, onFolded } = useContext(FoldContext);
  const [open, setOpen] = useState(false);
  const long = isLong(text);
  const folded = long && !open && !unfolded;
  useEffect(() => (folded ? onFolded() : undefined), [folded, onFolded]);
  if (!long) return <>{children}</>;
  return (
    <div className="sayso-fold">
      <div id={id} className="sayso-folded" data-folded={folded}>
        {children}
      </div>
      {!unfolded && (
        <button
          type="button"
          className="sayso-link"
          aria-expanded={open}
          aria-controls={id}
          onClick={() => {
            setOpen(!open);
          }}
        >
          {open ? "Show less" : `Show all ${text.length.toLocaleString("en")} characters`}
        </button>
      )}
    </div>
  );
}

function isLong(text: string): boolean {
  if (text.length > MAX_CHARACTERS) return true;
  return text.split("\n", MAX_LINES + 1).length > MAX_LINES;
}
