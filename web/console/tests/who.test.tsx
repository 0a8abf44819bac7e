import { act, renderHook } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { fetchAudit } from "../src/audit/trail.js";
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

it("a page that hears not who is there says that it is slow, asks again, and does not stand for nobody", async () => {
  // Whom another test was is not known here.
  vi.resetModules();
  const { useWho, useWhoIsLate } = await import("../src/who.js");
  const { result, unmount } = renderHook(() => ({ who: useWho(), late: useWhoIsLate() }));
  await pass(9_000);
  expect(result.current).toEqual({ who: undefined, late: false });
  await pass(2_000);
  expect(result.current).toEqual({ who: undefined, late: true });
  expect(asked).toBe(1);
  await pass(2_000);
  expect(asked).toBe(2);
  vi.stubGlobal("fetch", () => Promise.resolve(new Response("{}", { status: 401 })));
  await pass(12_000);
  expect(result.current).toEqual({ who: null, late: false });
  unmount();
});

it("a request that is never answered ends, and says that the server cannot be reached", async () => {
  const said = request("agents").catch((error: unknown) => String(error));
  await pass(60_000);
  expect(await said).toContain("The server cannot be reached.");
});

it("a request that does something and is never answered is not said to have come to nothing", async () => {
  const said = request("threads/t/stop", { method: "POST", body: {} }).catch(String);
  await pass(60_000);
  expect(await said).toContain("No answer came; it may have been done. Look before you try again.");
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("Failed to fetch")));
  const gone = request("threads/t/stop", { method: "POST", body: {} }).catch(String);
  await pass(0);
  expect(await gone).toContain("The server cannot be reached.");
});

it("the check of a trail may take as long as it takes", async () => {
  let answer: (response: Response) => void = () => undefined;
  vi.stubGlobal("fetch", (url: string, init?: RequestInit) =>
    url.includes("/audit/t")
      ? new Promise<Response>((resolve, reject) => {
          answer = resolve;
          init?.signal?.addEventListener("abort", reject);
        })
      : Promise.resolve(Response.json({ items: [] })),
  );
  const trail = fetchAudit("t", new AbortController().signal);
  await pass(600_000);
  answer(Response.json({ intact: true, rows: 3 }));
  expect(await trail).toMatchObject({ count: 3, brokenAt: null });
});

it("a request ends at once when nobody waits for it any more", async () => {
  const over = new AbortController();
  const said = request("agents", { signal: over.signal }).catch((error: unknown) => String(error));
  over.abort();
  await pass(0);
  expect(await said).toContain("AbortError");
});
