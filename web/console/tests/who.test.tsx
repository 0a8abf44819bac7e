import { act, renderHook } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { request } from "../src/rest.js";

/** How often a server was asked that takes requests and never says anything. */
let asked: number;

beforeEach(() => {
  vi.useFakeTimers();
  asked = 0;
  vi.stubGlobal("fetch", (_: string, init?: RequestInit) => {
    asked += 1;
    return new Promise((_resolve, reject) => {
      init?.signal?.addEventListener("abort", () => {
        reject(new DOMException("aborted", "AbortError"));
      });
    });
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const pass = (milliseconds: number) => act(() => vi.advanceTimersByTimeAsync(milliseconds));

it("a page waits ten seconds to hear who is there, then stands for nobody and asks again", async () => {
  // Whom another test was is not known here.
  vi.resetModules();
  const { useWho } = await import("../src/who.js");
  const { result, unmount } = renderHook(useWho);
  await pass(9_000);
  expect(result.current).toBeUndefined();
  await pass(2_000);
  expect(result.current).toBeNull();
  expect(asked).toBe(1);
  await pass(2_000);
  expect(asked).toBe(2);
  unmount();
});

it("a request that is never answered ends, and says that the server cannot be reached", async () => {
  const said = request("agents").catch((error: unknown) => String(error));
  await pass(60_000);
  expect(await said).toContain("The server cannot be reached.");
});

it("a request ends at once when nobody waits for it any more", async () => {
  const over = new AbortController();
  const said = request("agents", { signal: over.signal }).catch((error: unknown) => String(error));
  over.abort();
  await pass(0);
  expect(await said).toContain("AbortError");
});
