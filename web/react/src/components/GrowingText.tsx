import type { TextareaHTMLAttributes } from "react";

const MAX_ROWS = 24;

/** A text that takes as many rows as it has lines, from one on. */
export function GrowingText(
  props: TextareaHTMLAttributes<HTMLTextAreaElement> & { readonly value: string },
) {
  const rows = Math.min(MAX_ROWS, props.value.split("\n").length);
  return <textarea dir="auto" {...props} rows={rows} data-grows="" />;
}
