"use client";

import { createContext, useContext, type ReactNode } from "react";
import { rightsOf, type Failure, type Interrupt } from "../core/index.js";

/** Leads to a sign-in that is at most so many seconds old, and back to this page. */
export type SignInAgain = (seconds: number) => void;

const SignInContext = createContext<SignInAgain | null>(null);

/** Lets the cards below it lead a reader there whose sign-in is too old; without it they only say so. */
export function SignInAgainProvider(props: {
  readonly onSignIn: SignInAgain;
  readonly children: ReactNode;
}) {
  return <SignInContext.Provider value={props.onSignIn}>{props.children}</SignInContext.Provider>;
}

/** What leads to a fresh sign-in; null where nothing does. */
export function useSignInAgain(): SignInAgain | null {
  return useContext(SignInContext);
}

/** The way to send answers whose sign-in was too old: they are kept, to be sent after the next one. */
export function SignInToSend(props: {
  readonly failure: Failure | null;
  readonly interrupts: readonly Interrupt[];
}) {
  const signIn = useSignInAgain();
  if (props.failure?.code !== "step_up_required" || signIn === null) return null;
  const ages = props.interrupts.map((interrupt) => rightsOf(interrupt).signInSeconds ?? Infinity);
  const least = Math.min(...ages);
  return (
    <button
      type="button"
      className="sayso-button sayso-primary"
      onClick={() => {
        signIn(Number.isFinite(least) ? least : 0);
      }}
    >
      Sign in again
    </button>
  );
}
