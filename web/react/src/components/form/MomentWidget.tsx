"use client";

import { ariaDescribedByIds, utcToLocal, type WidgetProps } from "@rjsf/utils";
import { useState } from "react";
import { TextWidget } from "./TextField.js";

/** How a format is picked: the field's type, what it shows for a text, and what is sent for it. */
interface Picker {
  readonly type: "date" | "datetime-local" | "time";
  /** Null for a text that the field would show as another one. */
  readonly shown: (text: string) => string | null;
  readonly sent: (picked: string) => string;
}

const LOCAL_TIME = /^\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?$/;
const LOCAL_MOMENT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?$/;
const MOMENT =
  /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3}0*)?)?(?:[Zz]|[+-]\d{2}:?\d{2})$/;

const PICKERS: Readonly<Record<string, Picker>> = {
  date: { type: "date", shown: (text) => text, sent: (picked) => picked },
  "date-time": {
    type: "datetime-local",
    shown: (text) => (MOMENT.test(text) ? utcToLocal(text) : null),
    sent: (picked) => new Date(picked).toISOString(),
  },
  "date-time-local": {
    type: "datetime-local",
    shown: (text) => (LOCAL_MOMENT.test(text) ? text : null),
    sent: withSeconds,
  },
  time: {
    type: "time",
    shown: (text) => {
      const [, time = "", offset = ""] = /^(.*?)(Z|[+-]\d{2}:\d{2})$/i.exec(text) ?? [];
      return LOCAL_TIME.test(time) && offset === offsetHere() ? time : null;
    },
    sent: (picked) => `${withSeconds(picked)}${offsetHere()}`,
  },
  "time-local": {
    type: "time",
    shown: (text) => (LOCAL_TIME.test(text) ? text : null),
    sent: withSeconds,
  },
};

/**
 * A date, a time or both, picked. A text that the field would show as another one, or not at all, is
 * edited as the text that it is.
 */
export function MomentWidget(props: WidgetProps) {
  const picker = PICKERS[props.schema.format ?? ""];
  const held: unknown = props.value;
  const [original] = useState(held);
  const shown = picker === undefined ? null : shownBy(picker, held);
  const [asText, setAsText] = useState(shown === null);
  if (shown === null && !asText) setAsText(true);
  if (picker === undefined || shown === null || asText) return <TextWidget {...props} />;
  const { id, disabled = false, readonly = false, rawErrors = [], options } = props;
  const empty: unknown = original === "" || original === null ? original : options.emptyValue;
  const take = (picked: string) => {
    if (picked === "") return empty;
    // The same pick is the same text, however it was spelled.
    const before = shownBy(picker, original);
    return before !== null && full(before) === full(picked) ? original : sentBy(picker, picked);
  };
  return (
    <input
      id={id}
      name={props.htmlName ?? id}
      type={picker.type}
      className="sayso-input"
      value={shown}
      disabled={disabled}
      readOnly={readonly}
      required={props.required}
      aria-invalid={rawErrors.length > 0}
      aria-describedby={ariaDescribedByIds(id)}
      onChange={({ target }) => {
        props.onChange(take(target.value));
      }}
    />
  );
}

function shownBy({ type, shown }: Picker, held: unknown): string | null {
  if (held === undefined || held === null || held === "") return "";
  const text = typeof held === "string" ? shown(held) : null;
  if (text === null) return null;
  const probe = document.createElement("input");
  probe.type = type;
  probe.value = text;
  return full(probe.value) === full(text) ? text : null;
}

/** A year that is still being typed may be none that a clock knows. */
function sentBy({ sent }: Picker, picked: string): string {
  try {
    return sent(picked);
  } catch {
    return picked;
  }
}

function withSeconds(picked: string): string {
  return /\d{2}:\d{2}:/.test(picked) ? picked : `${picked}:00`;
}

/** One spelling of what a field gives in several. */
function full(text: string): string {
  const [, moment = text, seconds = "00", part = ""] =
    /^(.*\d{2}:\d{2})(?::(\d{2})(?:\.(\d+))?)?$/.exec(text) ?? [];
  return `${moment}:${seconds}.${part.padEnd(3, "0")}`;
}

/** The offset of this place, now, as `+02:00`. */
function offsetHere(): string {
  const minutes = -new Date().getTimezoneOffset();
  const two = (count: number) => String(Math.floor(Math.abs(count))).padStart(2, "0");
  return `${minutes < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}`;
}
