import type { InboxState } from "@sayso/react/inbox";
import { useEffect, useRef } from "react";
import { useNavigate } from "react-router";
import { notify } from "../notify.js";
import { labelOf, saidOf } from "./words.js";

/** Tells of questions that come up while nobody looks; those of the first list are not news. */
export function useNotices({ items, connection }: InboxState): void {
  const navigate = useNavigate();
  const known = useRef<ReadonlySet<string> | null>(null);
  const ready = connection.status === "ready";
  useEffect(() => {
    if (!ready && known.current === null) return;
    const before = known.current;
    known.current = new Set(items.map((one) => one.interrupt.id));
    if (before === null) return;
    for (const { interrupt, agent } of items) {
      if (before.has(interrupt.id)) continue;
      notify(interrupt.id, `${agent}: ${labelOf(interrupt)}`, saidOf(interrupt), () => {
        void navigate(`/inbox/${encodeURIComponent(interrupt.id)}`);
      });
    }
  }, [items, ready, navigate]);
}
