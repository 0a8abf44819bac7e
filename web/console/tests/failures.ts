// An error of a view, for whoever waits for something in it: the look fails at once, with that error,
// and not after the two minutes that a busy machine gets.
import { configure, getConfig } from "@testing-library/react";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";

let failure: Error | null = null;
let waiting: ((error: Error) => void)[] = [];

// The error of a view since the test began, which then no longer fails the test.
export function takeFailure(): Error | null {
  const taken = failure;
  failure = null;
  return taken;
}

const before = getConfig();
configure({
  asyncWrapper: (look) =>
    new Promise((resolve, reject) => {
      if (failure !== null) reject(failure);
      waiting.push(reject);
      before.asyncWrapper(look).then(resolve, reject);
    }),
});

function onError(event: ErrorEvent): void {
  const error = event.error instanceof Error ? event.error : new Error(event.message);
  failure ??= error;
  for (const reject of waiting) reject(error);
}

// For each file of tests: several may share this module.
export function failLooksAtOnce(): void {
  beforeAll(() => {
    window.addEventListener("error", onError);
  });
  afterAll(() => {
    window.removeEventListener("error", onError);
  });
  beforeEach(() => {
    failure = null;
    waiting = [];
  });
  afterEach(() => {
    const error = takeFailure();
    if (error !== null) throw error;
  });
}
