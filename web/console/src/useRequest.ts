import { useState } from "react";

/** Something asked of the server by a press: whether it is under way, and why it came to nothing. */
export interface Attempt {
  readonly busy: boolean;
  readonly failure: unknown;
  /** Says whether it went through; does nothing while one is under way. */
  readonly attempt: (act: () => Promise<void>) => Promise<boolean>;
  readonly forget: () => void;
}

export function useRequest(): Attempt {
  const [{ busy, failure }, set] = useState<{ busy: boolean; failure: unknown }>({
    busy: false,
    failure: null,
  });
  const attempt = async (act: () => Promise<void>) => {
    if (busy) return false;
    set({ busy: true, failure: null });
    try {
      await act();
      set({ busy: false, failure: null });
      return true;
    } catch (error) {
      set({ busy: false, failure: error });
      return false;
    }
  };
  const forget = () => {
    set({ busy: false, failure: null });
  };
  return { busy, failure, attempt, forget };
}

/** A failure in words for people. */
export function textOf(failure: unknown): string {
  return failure instanceof Error ? failure.message : String(failure);
}
