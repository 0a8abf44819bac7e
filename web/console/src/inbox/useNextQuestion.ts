import type { Interrupt } from "@ag-ui/client";
import { outcomeOf } from "@sayso/react/components";
import {
  callAbout,
  inboxView,
  labelOf,
  rightsOf,
  subjectOf,
  type Inbox,
  type InboxItem,
  type InboxState,
} from "@sayso/react/core";
import { useEffect, useRef, useState, type RefObject } from "react";
import { switchOf } from "../switches.js";

/** Whether the next question opens after a decision. */
export const NEXT = switchOf("sayso-next");

/** A question that was decided here a moment ago, and where it stood in the list. */
export interface Decided {
  readonly item: InboxItem;
  readonly place: number;
  /** How it was decided, as `Approved`. */
  readonly outcome: string;
}

const STAYS_MS = 5_000;
const SETTLES_MS = 500;

/**
 * Goes on to the next question once the one on the page is decided, and keeps what was decided in
 * the list for a moment. What it says is for a live region. The focus goes to the title of what opened,
 * unless the reader is busy elsewhere by now, as with the boxes of the list.
 */
export function useNextQuestion(options: {
  readonly inbox: Inbox;
  readonly ids: readonly string[];
  readonly currentId: string | null;
  readonly page: RefObject<HTMLElement | null>;
  readonly go: (id: string) => void;
  readonly say: (text: string) => void;
}): {
  readonly decided: readonly Decided[];
  /** True for a moment after it went on: a key that is pressed then was meant for the one before. */
  readonly hasJustMoved: () => boolean;
} {
  const { inbox, currentId, page } = options;
  const [decided, setDecided] = useState<readonly Decided[]>([]);
  const latest = useRef(options);
  const opened = useRef<string | null>(null);
  const movedAt = useRef(-Infinity);
  useEffect(() => {
    latest.current = options;
  });

  useEffect(() => {
    const timers = new Set<ReturnType<typeof setTimeout>>();
    let before = inbox.getSnapshot();
    const stop = inbox.subscribe(() => {
      const [was, now] = [before, inbox.getSnapshot()];
      before = now;
      const { ids, currentId: id, go, say } = latest.current;
      const over = was.items.flatMap((item) => {
        const ended = now.closed[item.interrupt.id]?.ending === "answered";
        const place = ids.indexOf(item.interrupt.id);
        if (!ended || place < 0 || isOpen(now, item.interrupt.id)) return [];
        return [{ item, place, outcome: wordsOf(now, item.interrupt.id) }];
      });
      if (over.length > 0) {
        setDecided((present) => [...present, ...over]);
        const timer = setTimeout(() => {
          timers.delete(timer);
          setDecided((present) => present.filter((one) => !over.includes(one)));
        }, STAYS_MS);
        timers.add(timer);
      }
      if (id === null || !NEXT.isOn()) return;
      const current = was.items.find((item) => item.interrupt.id === id);
      const isDecided = over.some(({ item }) => item === current) || isHeldNow(was, now, id);
      if (current === undefined || !isDecided) return;
      const next = nextOf(ids, id, now);
      // The card that stays says itself what became of it.
      if (next === null || isWritingBeside()) return;
      say(`${wordsOf(now, id)}: ${aboutOf(current.interrupt)}. The next question is open.`);
      opened.current = next;
      movedAt.current = performance.now();
      go(next);
    });
    return () => {
      stop();
      timers.forEach(clearTimeout);
    };
  }, [inbox]);

  useEffect(() => {
    if (opened.current === null || opened.current !== currentId) return;
    opened.current = null;
    if (isBusyElsewhere(page.current)) return;
    page.current?.querySelector<HTMLElement>(".detail-card .sayso-title")?.focus();
  }, [currentId, page]);

  return { decided, hasJustMoved: () => performance.now() - movedAt.current < SETTLES_MS };
}

/** True if the reader writes something by now that is no answer, such as what to find. */
function isWritingBeside(): boolean {
  const { activeElement } = document;
  const isField = activeElement?.matches("input:not([type=checkbox]), textarea, select") ?? false;
  return isField && !(activeElement?.closest(".sayso-card") ?? false);
}

/** True if the focus is on something that is not the question, such as a box of the list. */
function isBusyElsewhere(page: HTMLElement | null): boolean {
  const { activeElement } = document;
  if (activeElement === null || activeElement === document.body || activeElement === page) {
    return false;
  }
  return activeElement.closest(".inbox-detail") === null;
}

/** What a question is about, in a word or two. */
export function aboutOf(interrupt: Interrupt): string {
  return subjectOf(interrupt, callAbout(interrupt, [])) ?? labelOf(interrupt);
}

function isOpen(state: InboxState, id: string): boolean {
  return state.items.some((item) => item.interrupt.id === id);
}

/** True if an answer that was given here has just been kept by the server for the rest of its set. */
function isHeldNow(was: InboxState, now: InboxState, id: string): boolean {
  const item = now.items.find(({ interrupt }) => interrupt.id === id);
  const isHeld = (item?.held ?? null) !== null;
  return isHeld && id in was.answers && !(id in now.answers);
}

/** The question that a reader goes on to: the nearest below that waits for them, else above. */
export function nextOf(ids: readonly string[], from: string, state: InboxState): string | null {
  const place = ids.indexOf(from);
  const order = [...ids.slice(place + 1), ...ids.slice(0, Math.max(0, place)).reverse()];
  const waits = (id: string) => {
    const item = state.items.find(({ interrupt }) => interrupt.id === id);
    return item?.held === null && rightsOf(item.interrupt).answer;
  };
  return order.find((id) => id !== from && waits(id)) ?? null;
}

function wordsOf(state: InboxState, id: string): string {
  const view = inboxView(state, id, Date.now());
  if (view === null) return "Answered";
  return outcomeOf(view, callAbout(view.interrupt, []))?.title ?? "Answered";
}
