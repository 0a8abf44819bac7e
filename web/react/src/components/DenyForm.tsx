"use client";

import { useEffect, useId, useRef, type ReactNode, type SyntheticEvent } from "react";
import { isText, useDraftState } from "./formDrafts.js";

/** A no, with what the agent should know about it. */
export function DenyForm(props: {
  readonly label?: string;
  readonly required: boolean;
  readonly onDeny: (reason: string) => void;
  readonly onBack: () => void;
}) {
  const id = useId();
  const [reason, setReason] = useDraftState("reason", "", isText);
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
 * A panel below the buttons; the first field gets the focus unless nobody has opened it just
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
    const node = panel.current;
    return quiet.current || node === null ? undefined : focusFirst(node);
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

/** Focuses the first field; where its form is still being loaded, once it is there. */
function focusFirst(node: HTMLElement): () => void {
  const field = () => node.querySelector<HTMLElement>("textarea, input, select");
  const first = field() ?? node.querySelector<HTMLElement>("button");
  first?.focus();
  const waiting = new MutationObserver(() => {
    const element = field();
    if (element === null) return;
    waiting.disconnect();
    const { activeElement } = document;
    if (activeElement === first || activeElement === document.body) element.focus();
  });
  if (field() === null) waiting.observe(node, { childList: true, subtree: true });
  return () => {
    waiting.disconnect();
  };
}
