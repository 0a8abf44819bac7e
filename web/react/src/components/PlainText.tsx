import { Fragment } from "react";

/* Characters that have no look of their own but change how the text around them reads: marks and
   overrides of direction, zero-width ones, and all control characters but tab and line ends. */
const UNSEEN = /((?![\t\n\r])\p{Cc}|[\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff])/u;

/** A text exactly as it is: what has no look of its own is spelled out, so that nothing hides. */
export function PlainText({ text }: { readonly text: string }) {
  const parts = text.split(UNSEEN);
  if (parts.length === 1) return <>{text}</>;
  return (
    <>
      {parts.map((part, index) => (
        <Fragment key={index}>
          {index % 2 === 0 ? part : <bdi className="sayso-unseen">{nameOf(part)}</bdi>}
        </Fragment>
      ))}
    </>
  );
}

/** The same as a string, for where no element fits. */
export function plainText(text: string): string {
  return text
    .split(UNSEEN)
    .map((part, index) => (index % 2 === 0 ? part : nameOf(part)))
    .join("");
}

function nameOf(character: string): string {
  const code = character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
  return `U+${code}`;
}
