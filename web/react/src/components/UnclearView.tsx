"use client";

import { useState } from "react";
import type { Unclear } from "../core/index.js";
import { ArgumentTable } from "./ArgumentTable.js";
import { Fold } from "./Fold.js";
import { momentText } from "./momentText.js";
import { PlainText, plainText } from "./PlainText.js";

/** Tells one unclear effect from another: its arguments, when it began, and where to look. */
export function UnclearView({ unclear }: { readonly unclear: Unclear }) {
  const { name, args, look, startedAt, key } = unclear;
  return (
    <>
      {args !== undefined && (
        <ArgumentTable value={args} label={`Arguments of ${plainText(name)}`} />
      )}
      <dl className="sayso-facts">
        {startedAt !== null && (
          <div className="sayso-fact">
            <dt>Started</dt>
            <dd>
              <time dateTime={new Date(startedAt).toISOString()}>{momentText(startedAt)}</time>
            </dd>
          </div>
        )}
        {look !== null && (
          <div className="sayso-fact">
            <dt>Where to look</dt>
            <dd>
              <Fold text={look}>
                <span className="sayso-text" dir="auto">
                  <PlainText text={look} />
                </span>
              </Fold>
            </dd>
          </div>
        )}
        {key !== null && (
          <div className="sayso-fact">
            <dt>Call key</dt>
            <dd className="sayso-key">
              <code>
                <PlainText text={key} />
              </code>
              <CopyButton text={key} />
            </dd>
          </div>
        )}
      </dl>
    </>
  );
}

/** Copies a text; without it where the page may not write to the clipboard. */
function CopyButton({ text }: { readonly text: string }) {
  const [copied, setCopied] = useState<boolean | null>(null);
  const clipboard = typeof navigator === "undefined" ? undefined : navigator.clipboard;
  // A page of plain http has none, whatever the types say.
  if (clipboard === undefined) return null;
  const copy = async () => {
    try {
      await clipboard.writeText(text);
      setCopied(true);
    } catch {
      setCopied(false);
    }
  };
  return (
    <>
      <button
        type="button"
        className="sayso-link"
        aria-label="Copy the call key"
        onClick={() => void copy()}
      >
        Copy
      </button>
      <span role="status" className="sayso-quiet">
        {copied === true && "Copied"}
        {copied === false && "Not copied. Select the key and copy it."}
      </span>
    </>
  );
}
