import type { Elsewhere } from "../core/index.js";
import { PlainText } from "./PlainText.js";

/** Says where something is done, in words, and leads there while it can be answered. */
export function ElsewhereView(props: { readonly elsewhere: Elsewhere; readonly leads: boolean }) {
  const { host, url } = props.elsewhere;
  const name = (
    <strong className="sayso-host" dir="ltr">
      <PlainText text={host} />
    </strong>
  );
  if (!props.leads) return <p className="sayso-quiet">Asked to be done at {name}.</p>;
  return (
    <div className="sayso-elsewhere">
      <p>This is done at {name}. Never enter a password or key on this page.</p>
      <a
        className="sayso-button sayso-primary sayso-leads"
        href={url}
        target="_blank"
        rel="noopener noreferrer"
        referrerPolicy="no-referrer"
      >
        Open <PlainText text={host} />
        <span aria-hidden="true"> ↗</span>
        <span className="sayso-sr"> in a new tab</span>
      </a>
    </div>
  );
}
