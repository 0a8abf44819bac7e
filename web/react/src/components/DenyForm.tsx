import { useEffect, useId, useRef, type ReactNode, type SyntheticEvent } from "react";
import { isText, useKept } from "./kept.js";

/** A no, with what the agent should know about it. */
export function DenyForm(props: {
  readonly label?: string;
  readonly required: boolean;
  readonly onDeny: (reason: string) => void;
  readonly onBack: () => void;
}) {
  const id = useId();
  const [reason, setReason] = useKept("reason", "", isText);
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    props.onDeny(reason.trim());
  };
  return (
    <form onSubmit={submit} className="sayso-form">
      <label htmlFor={id}>Reason{props.required ? "" : " (optional)"}</label>
      <textarea
        id={id}
        className="sayso-input"
        rows={2}
        required={props.required}
        placeholder="What should the agent know?"
        value={reason}
        onChange={({ target }) => {
          setReason(target.value);
        }}
      />
      <div className="sayso-actions">
        <button type="submit" className="sayso-button sayso-primary sayso-no">
          {props.label ?? "Confirm denial"}
        </button>
        <button type="button" className="sayso-button" onClick={props.onBack}>
          Back
        </button>
      </div>
    </form>
  );
}

/**
 * What opens below the buttons; the first field gets the focus unless nobody has opened it just
 * now (`restored`), Escape closes it.
 */
export function Panel({
  onEscape,
  restored = false,
  children,
}: {
  readonly onEscape: () => void;
  readonly restored?: boolean;
  readonly children: ReactNode;
}) {
  const panel = useRef<HTMLDivElement>(null);
  const quiet = useRef(restored);
  useEffect(() => {
    if (quiet.current) return;
    const field = panel.current?.querySelector<HTMLElement>("textarea, input, select, button");
    field?.focus();
  }, []);
  useEffect(() => {
    const node = panel.current;
    const close = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      onEscape();
    };
    node?.addEventListener("keydown", close);
    return () => {
      node?.removeEventListener("keydown", close);
    };
  }, [onEscape]);
  return (
    <div className="sayso-panel" ref={panel}>
      {children}
    </div>
  );
}
