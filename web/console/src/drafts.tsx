import { sessionDrafts, type Drafts } from "@sayso/react";
import { FormDraftProvider, sessionFormDrafts, type FormDrafts } from "@sayso/react/components";
import { createContext, useContext, useState, type ReactNode } from "react";

/** What one person has half written in this tab. It outlives a reload and ends with the tab. */
interface PersonalDraftsOf {
  readonly answers: Drafts;
  readonly inbox: Drafts;
  readonly forms: FormDrafts;
  /** The key of a thread's next message. */
  readonly textKey: (threadId: string) => string;
}

const Context = createContext<PersonalDraftsOf | null>(null);

/**
 * Keeps what is half written below it for one person, by whose name it is kept; null: for nobody, and
 * nothing is kept. Give it a `key` of that person: what is below begins anew for another one.
 */
export function PersonalDrafts(props: {
  readonly person: string | null;
  readonly children: ReactNode;
}) {
  const [drafts] = useState(() => (props.person === null ? null : draftsOf(props.person)));
  if (drafts === null) return props.children;
  return (
    <Context.Provider value={drafts}>
      <FormDraftProvider drafts={drafts.forms}>{props.children}</FormDraftProvider>
    </Context.Provider>
  );
}

/** Where the drafts of whoever is there are kept; null where nobody is. */
export function usePersonalDrafts(): PersonalDraftsOf | null {
  return useContext(Context);
}

/** The draft of a thread's next message. */
export function useDraftText(threadId: string): readonly [string, (text: string) => void] {
  const key = usePersonalDrafts()?.textKey(threadId) ?? null;
  const [text, setText] = useState(() => {
    const stored = key === null ? null : quiet(() => sessionStorage.getItem(key));
    return stored ?? "";
  });
  const write = (next: string) => {
    setText(next);
    if (key === null) return;
    quiet(() => {
      if (next === "") sessionStorage.removeItem(key);
      else sessionStorage.setItem(key, next);
    });
  };
  return [text, write];
}

/** Forgets what anybody has half written in this tab, and the token. */
export function forgetDrafts(): void {
  quiet(() => {
    for (const key of Object.keys(sessionStorage)) {
      if (key.startsWith("sayso")) sessionStorage.removeItem(key);
    }
  });
}

function draftsOf(person: string): PersonalDraftsOf {
  return {
    answers: sessionDrafts(`sayso:${person}`),
    inbox: sessionDrafts(`sayso-inbox:${person}`),
    forms: sessionFormDrafts(`sayso:${person}`),
    textKey: (threadId) => `sayso:${person}:text:${threadId}`,
  };
}

function quiet<T>(act: () => T): T | null {
  try {
    return act();
  } catch {
    // Without storage all of it holds until the page is left.
    return null;
  }
}
