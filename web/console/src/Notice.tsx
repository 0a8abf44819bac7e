import type { ReactNode } from "react";

/** A view that has nothing to show yet, and why. */
export function Notice(props: {
  readonly title: string;
  readonly children?: ReactNode;
  readonly action?: { readonly label: string; readonly onClick: () => void };
}) {
  const { title, children, action } = props;
  return (
    <main className="notice" id="main">
      <div role="status">
        <h1>{title}</h1>
        {children !== undefined && children !== false && <p>{children}</p>}
      </div>
      {action !== undefined && (
        <button type="button" className="sayso-button sayso-primary" onClick={action.onClick}>
          {action.label}
        </button>
      )}
    </main>
  );
}
