"use client";

import { ariaDescribedByIds, type WidgetProps } from "@rjsf/utils";
import { useState, type ChangeEvent } from "react";
import { parseJson, writeJson } from "../../core/json.js";
import { GrowingText } from "../GrowingText.js";
import { NULLABLE } from "./formSchema.js";
import { inward, isUnread, outward, takeQuoted, written } from "./written.js";

/** A text of up to so many characters has no lines of its own. */
const MAX_LINE_CHARACTERS = 120;

/** How a text is edited, from what keeps least of it to what keeps everything. */
const WAYS = ["line", "lines", "crlf", "quoted"] as const;
type Way = (typeof WAYS)[number];

/** The keyboard for a format; fields of its type would change what is typed. */
const MODES = { email: "email", uri: "url" } as const;

/**
 * A text, edited so that nothing of it is lost (J): a line where the schema asks for one and the text
 * is one, else as many lines as it has. Browsers turn every line break into a line feed; a text whose
 * breaks are all CRLF gets them back, one with other carriage returns is edited as JSON has it.
 */
export function TextWidget(props: WidgetProps) {
  const { schema, disabled = false, readonly = false, onChange } = props;
  const { rawErrors = [] } = props;
  const held: unknown = props.value;
  const [original] = useState(held);
  const [first, setFirst] = useState<Way>("line");
  const way = later(first, wayOf(schema, outward(held)));
  if (way !== first) setFirst(way);
  const [quoted, setQuoted] = useState(() => show("quoted", held));
  const empty: unknown = emptied(props, original);
  const common = {
    id: props.id,
    name: props.htmlName ?? props.id,
    disabled,
    readOnly: readonly,
    required: props.required ?? false,
    "aria-invalid": rawErrors.length > 0,
    "aria-describedby": ariaDescribedByIds(props.id),
    onChange: ({ target }: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) => {
      setQuoted(target.value);
      onChange(target.value === "" ? empty : take(way, target.value));
    },
  };
  const code = way === "quoted" || isCode(schema.contentMediaType);
  const className = code ? "sayso-input sayso-code" : "sayso-input";
  if (way === "line") {
    const { format } = schema;
    return (
      <input
        {...common}
        type={format === "password" ? "password" : "text"}
        inputMode={format === "email" || format === "uri" ? MODES[format] : undefined}
        className={className}
        value={show(way, held)}
      />
    );
  }
  const value = way === "quoted" && take(way, quoted) === held ? quoted : show(way, held);
  return <GrowingText {...common} className={className} value={value} spellCheck={!code} />;
}

/**
 * The value of a cleared field: a text that was there is now empty, if that is allowed. What may
 * be null, and what was never there, is none.
 */
function emptied({ schema, options, registry }: WidgetProps, original: unknown): unknown {
  if (original === "" || original === null) return original;
  if (typeof original !== "string" || NULLABLE in schema) return options.emptyValue;
  const { schemaUtils, rootSchema } = registry;
  const fits = schemaUtils.getValidator().isValid(schema, "", rootSchema);
  return fits ? "" : options.emptyValue;
}

function wayOf({ format, maxLength }: WidgetProps["schema"], text: unknown): Way {
  if (typeof text === "string" && text.includes("\r")) {
    return /\r(?!\n)|(?<!\r)\n/.test(text) ? "quoted" : "crlf";
  }
  const short = format !== undefined || (maxLength ?? Infinity) <= MAX_LINE_CHARACTERS;
  return short && !(typeof text === "string" && text.includes("\n")) ? "line" : "lines";
}

function later(left: Way, right: Way): Way {
  return WAYS.indexOf(left) > WAYS.indexOf(right) ? left : right;
}

function show(way: Way, held: unknown): string {
  const value = outward(held);
  const text = typeof value === "string" ? value : written(held);
  if (way === "crlf") return text.replaceAll("\r\n", "\n");
  return way === "quoted" && !isUnread(held) ? writeJson(text) : text;
}

function take(way: Way, text: string): unknown {
  if (way === "quoted") return takeQuoted(text, parseJson(text));
  return inward(way === "crlf" ? text.replaceAll("\n", "\r\n") : text);
}

/** True if a media type is of something that is written in a fixed width. */
function isCode(type: unknown): boolean {
  return typeof type === "string" && !/^text\/(plain|markdown|html|rtf)\b/.test(type);
}
