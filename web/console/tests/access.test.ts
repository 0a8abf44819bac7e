import { afterEach, beforeEach, expect, it, vi } from "vitest";

/** The module as a page that was just loaded has it. */
async function loaded() {
  vi.resetModules();
  return import("../src/access.js");
}

const sent: (string | null)[] = [];

beforeEach(() => {
  sent.length = 0;
  vi.stubGlobal("fetch", (_: string, init?: RequestInit) => {
    sent.push(new Headers(init?.headers).get("authorization"));
    return Promise.resolve(new Response());
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
  sessionStorage.clear();
});

it("a token is kept over a reload of its tab, until it is forgotten", async () => {
  (await loaded()).setToken("open sesame");
  const again = await loaded();
  await again.serverFetch("/agents");
  again.setToken("");
  await (await loaded()).serverFetch("/agents");
  expect(sent).toEqual(["Bearer open sesame", null]);
  expect(JSON.stringify(Object.entries(localStorage))).not.toContain("open sesame");
});
