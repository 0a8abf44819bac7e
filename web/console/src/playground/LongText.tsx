import { PlainText } from "@sayso/react/components";
import { useState } from "react";

/** Characters that are shown at once; a page of megabytes would hold the browser up for seconds. */
const MAX_CHARACTERS = 100_000;

/** A text as it is; a huge one by its beginning, with the rest for whoever wants it. */
export function LongText({ text }: { readonly text: string }) {
  const [all, setAll] = useState(false);
  if (all || text.length <= MAX_CHARACTERS) {
    return (
      <p dir="auto">
        <PlainText text={text} />
      </p>
    );
  }
  return (
    <>
      <p dir="auto">
        <PlainText text={text.slice(0, MAX_CHARACTERS)} />…
      </p>
      <button
        type="button"
        className="sayso-link"
        onClick={() => {
          setAll(true);
        }}
      >
        {`Show all ${text.length.toLocaleString("en")} characters`}
      </button>
    </>
  );
}
