import { labelOf, rightsOf, type InboxState } from "@sayso/react/core";
import { useEffect, useRef } from "react";
import { useNavigate } from "react-router";
import { notify } from "../notify.js";
import { saidOf } from "./labels.js";

/** Tells of questions that come up while nobody looks; those of the first list are not news. */
export function useNotices({ items, connection }: InboxState): void {
  const navigate = useNavigate();
  const knownIds = useRef<ReadonlySet<string> | null>(null);
  const ready = connection.status === "ready";
  useEffect(() => {
    if (!ready && knownIds.current === null) return;
    const before = knownIds.current;
    knownIds.current = new Set(items.map((item) => item.interrupt.id));
    if (before === null) return;
    for (const { interrupt, agent } of items) {
      if (before.has(interrupt.id) || !rightsOf(interrupt).answer) continue;
      notify(interrupt.id, `${agent}: ${labelOf(interrupt)}`, saidOf(interrupt), () => {
        void navigate(`/inbox/${encodeURIComponent(interrupt.id)}`);
      });
    }
  }, [items, ready, navigate]);
}
