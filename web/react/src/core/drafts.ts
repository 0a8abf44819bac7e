import { asRecord, mapOf, parseJson, writeJson } from "./json.js";
import { readAnswer } from "./readInterrupt.js";
import { takesSecret } from "./secrets.js";
import type { Answer, Answers, Interrupt } from "./types.js";

/**
 * Where answers outlive a reload until they are sent. What is read back is offered again, to be
 * looked at and sent by a person: nothing is ever sent because it was kept.
 */
export interface Drafts {
  /** The kept answers to those of these questions that are still asked in the same words. */
  read(threadId: string, interrupts: readonly Interrupt[]): Answers;
  /** Keeps these answers of a thread instead of all that were kept before. */
  write(threadId: string, interrupts: readonly Interrupt[], answers: Answers): void;
}

/**
 * Drafts in the tab's `sessionStorage`: they end with the tab. Without storage (a server, a browser
 * that denies it, a full one) nothing is kept; no answer is that may have a secret in it.
 */
export function sessionDrafts(prefix = "sayso"): Drafts {
  const keyOf = (threadId: string) => `${prefix}:answers:${threadId}`;
  return {
    read: (threadId, interrupts) => {
      const kept = asRecord(parseJson(quiet(() => sessionStorage.getItem(keyOf(threadId))) ?? ""));
      const map = mapOf<Answer>();
      for (const interrupt of interrupts) {
        if (takesSecret(interrupt)) continue;
        const draft = asRecord(kept?.[interrupt.id]);
        const answer = readAnswer(asRecord(draft?.answer));
        if (answer !== null && draft?.question === digestOf(interrupt)) map[interrupt.id] = answer;
      }
      return map;
    },
    write: (threadId, interrupts, answers) => {
      const kept = interrupts.flatMap((interrupt) => {
        const answer = answers[interrupt.id];
        return answer === undefined || takesSecret(interrupt)
          ? []
          : [[interrupt.id, { answer, question: digestOf(interrupt) }] as const];
      });
      quiet(() => {
        if (kept.length === 0) sessionStorage.removeItem(keyOf(threadId));
        else sessionStorage.setItem(keyOf(threadId), writeJson(Object.fromEntries(kept)));
      });
    },
  };
}

/** Tells a question from one that was put differently under the same id (CL-08). */
export function digestOf({ message, toolCallId, responseSchema }: Interrupt): number {
  const text = writeJson([message, toolCallId, responseSchema]);
  let hash = 0;
  for (let index = 0; index < text.length; index += 1)
    hash = (Math.imul(hash, 31) + text.charCodeAt(index)) | 0;
  return hash;
}

function quiet<T>(act: () => T): T | null {
  try {
    return act();
  } catch {
    return null;
  }
}
