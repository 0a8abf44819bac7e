import { useState } from "react";
import type { ThreadRecord } from "../thread/records.js";
import { Trail } from "./Trail.js";

/** A thread's audit trail, read when it is opened, and again whenever the thread changes. */
export function AuditSection({ thread }: { readonly thread: ThreadRecord }) {
  const [open, setOpen] = useState(false);
  return (
    <section aria-labelledby="audit-title">
      <h2 id="audit-title">Audit</h2>
      <details
        className="sayso-details"
        onToggle={({ currentTarget }) => {
          setOpen(currentTarget.open);
        }}
      >
        <summary>Every question, decision and effect, each row sealed</summary>
        {open && <Trail whose={thread.row.threadId} version={thread} />}
      </details>
    </section>
  );
}
