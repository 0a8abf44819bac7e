"use client";

import { createContext, useContext, useEffect, useRef, type ReactNode } from "react";
import { ReadOnButton } from "./ReadOnButton.js";

/** How much of a card its reader has had on the screen; `unknown` before the page has told. */
export interface Reading {
  readonly status: "unknown" | "unread" | "read";
  /** Opens what is folded, and turns to what is below. */
  readonly readNext: () => void;
}

/** Without a card around it there is nothing to read first. */
export const ReadingContext = createContext<Reading>({ status: "read", readNext: () => undefined });

/**
 * A button that says yes: it waits until all that it says yes to has been on the screen. Without
 * `onPress` it submits its form. Behind it in its row, `ReadOn` leads there.
 */
export function ReadFirst(props: { readonly label: ReactNode; readonly onPress?: () => void }) {
  const { label, onPress } = props;
  const { status, readNext } = useContext(ReadingContext);
  const pressed = useRef(false);
  // A key may be pressed in the very moment in which the card appears: it counts once that is known.
  useEffect(() => {
    if (!pressed.current || status === "unknown") return;
    pressed.current = false;
    if (status === "read") onPress?.();
    else readNext();
  }, [status, onPress, readNext]);
  const unread = status === "unread";
  return (
    <button
      type={onPress === undefined ? "submit" : "button"}
      className="sayso-button sayso-primary"
      disabled={unread}
      title={unread ? "Read to the end first" : undefined}
      data-reading={status}
      {...(onPress !== undefined && {
        ...(!unread && { "data-act": "approve" }),
        onClick: () => {
          if (status === "unknown") pressed.current = true;
          else onPress();
        },
      })}
    >
      {label}
    </button>
  );
}

/** Leads to what a yes waits for; `act` is the key of that yes. */
export function ReadOn({ act }: { readonly act?: string }) {
  const { status, readNext } = useContext(ReadingContext);
  return (
    <ReadOnButton
      label="Read to the end"
      unread={status === "unread"}
      onPress={readNext}
      {...(act !== undefined && { act })}
    />
  );
}
