"use client";

import { useLayoutEffect, useRef, useState } from "react";

/**
 * Leads to what has not been read. It stands behind the buttons that decide, and once it was there
 * it keeps its place: a press that has begun ends on the button that it was meant for. Once all is
 * read, whoever is on it goes to its row, one step of the Tab key before the yes; to the yes itself
 * a held Enter would come, too, and say it.
 */
export function ReadOnButton(props: {
  readonly label: string;
  readonly unread: boolean;
  readonly onPress: () => void;
  /** The key that presses it while something is unread. */
  readonly act?: string;
}) {
  const { label, unread, onPress, act } = props;
  const [placed, setPlaced] = useState(unread);
  const button = useRef<HTMLButtonElement>(null);
  if (unread && !placed) setPlaced(true);
  useLayoutEffect(() => {
    if (unread || button.current === null || button.current !== document.activeElement) return;
    const row = button.current.parentElement;
    if (row === null) return;
    row.tabIndex = -1;
    row.focus();
  }, [unread]);
  if (!placed) return null;
  return (
    <button
      type="button"
      className="sayso-button"
      ref={button}
      onClick={onPress}
      {...(unread ? act !== undefined && { "data-act": act } : { style: { visibility: "hidden" } })}
    >
      {label}
    </button>
  );
}
