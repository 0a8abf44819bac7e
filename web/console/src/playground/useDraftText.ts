import { useState } from "react";

/** The draft of a thread's next message: it outlives a reload and ends with the tab. */
export function useDraftText(threadId: string): readonly [string, (text: string) => void] {
  const key = `sayso:text:${threadId}`;
  const [text, setText] = useState(() => quiet(() => sessionStorage.getItem(key)) ?? "");
  const write = (next: string) => {
    setText(next);
    quiet(() => {
      if (next === "") sessionStorage.removeItem(key);
      else sessionStorage.setItem(key, next);
    });
  };
  return [text, write];
}

function quiet<T>(act: () => T): T | null {
  try {
    return act();
  } catch {
    // Without storage the text holds until the page is left.
    return null;
  }
}
