"use client";

import FieldTemplate from "@rjsf/core/lib/components/templates/FieldTemplate/index.js";
import { helpId, type FieldTemplateProps } from "@rjsf/utils";
import { useState } from "react";
import { writeJson } from "../../core/json.js";
import { HiddenText } from "../HiddenText.js";
import { hides, plainText } from "../PlainText.js";
import { NULLABLE } from "./formSchema.js";
import { outward } from "./written.js";

/**
 * A field with what it does not show by itself below it: characters that hide in its text, and what
 * holds in place of a value that was there and is cleared.
 */
export function FieldFrame(props: FieldTemplateProps) {
  const { id, help } = props;
  const formData: unknown = props.formData;
  const [given] = useState<unknown>(formData);
  const text: unknown = outward(formData);
  const cleared = given !== undefined && formData === undefined ? whatHolds(props) : null;
  const notes =
    cleared !== null ? (
      <p>{cleared}</p>
    ) : typeof text === "string" && hides(text) ? (
      <HiddenText text={text} />
    ) : null;
  const beneath = (
    <>
      {help}
      <div id={helpId(id)} className="sayso-notes">
        {notes}
      </div>
    </>
  );
  return <FieldTemplate {...props} {...(notes !== null && { help: beneath })} />;
}

/** The note for a cleared value; a required one is asked for instead. */
function whatHolds({ schema, required = false }: FieldTemplateProps): string | null {
  const fallback: unknown = outward(schema.default);
  const hasDefault = fallback !== undefined && fallback !== null;
  if (NULLABLE in schema && (required || hasDefault)) return "Empty: none is sent.";
  if (required) return null;
  if (!hasDefault) return "Empty: nothing is sent.";
  return `Empty: the default applies, ${plainText(writeJson(fallback))}.`;
}
