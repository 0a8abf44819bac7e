import { HttpAgent } from "@ag-ui/client";
import { describe, expect, it, vi } from "vitest";
import { declared, fetchCapabilities, readCapabilities, SaysoAgent } from "../../src/core/index.js";

const whole = {
  identity: { name: "ops", metadata: { team: null } },
  tools: { items: [{ name: "pay", description: "Pays.", parameters: { type: "object" } }] },
  humanInTheLoop: { supported: true, approvals: true, feedback: false, pagers: 3 },
  execution: { maxIterations: 4 },
  custom: { sayso: { version: [1] } },
  tomorrow: { anything: null },
};

const answering = (body: BodyInit | null, status = 200) =>
  vi.fn<(url: string, init: RequestInit) => Promise<Response>>(() =>
    Promise.resolve(new Response(body, { status })),
  );

describe("a server's declaration", () => {
  it("[CP-03] is fetched below the agent's address, with the agent's credentials", async () => {
    const fetch = answering(JSON.stringify(whole));
    const url = "http://sayso.test/agents/ops/?interrupts=both";
    const agent = new SaysoAgent({ url, headers: { authorization: "Bearer t" }, fetch });
    expect(await fetchCapabilities(agent)).toEqual(whole);
    const [[asked, init] = []] = fetch.mock.calls;
    expect(asked).toBe("http://sayso.test/agents/ops/capabilities");
    expect(new Headers(init?.headers).get("authorization")).toBe("Bearer t");
    expect(await fetchCapabilities("http://sayso.test/agents/ops", { fetch })).toEqual(whole);
  });

  it("[CP-03] is the agent's own when it has one", async () => {
    const agent = new HttpAgent({ url: "http://sayso.test/agents/ops" });
    const own = Object.assign(agent, { getCapabilities: () => Promise.resolve(whole) });
    expect(await fetchCapabilities(own)).toBe(whole);
  });

  it("[CP-06] says nothing where it is silent, and nothing at all when there is none", async () => {
    const read = readCapabilities(whole);
    expect(declared(read, "humanInTheLoop", "approvals")).toBe(true);
    expect(declared(read, "humanInTheLoop", "feedback")).toBe(false);
    expect(declared(read, "humanInTheLoop", "approveWithEdits")).toBeUndefined();
    expect(declared(read, "reasoning", "supported")).toBeUndefined();
    expect(declared(read, "constructor")).toBeUndefined();
    expect(declared(null, "humanInTheLoop", "approvals")).toBeUndefined();
    for (const status of [404, 405, 501]) {
      const fetch = answering("no", status);
      expect(await fetchCapabilities("http://other.test/agent", { fetch })).toBeNull();
    }
  });

  it("[CP-07] is kept whole, unknown members included", () => {
    expect(readCapabilities(whole)).toBe(whole);
    expect(readCapabilities({})).toEqual({});
  });

  it.each([
    ["no object", []],
    ["null", null],
    ["a group that is null", { state: null }],
    ["a flag that is a text", { humanInTheLoop: { interrupts: "yes" } }],
    ["a tool without a description", { tools: { items: [{ name: "pay" }] } }],
    ["a list that is none", { output: { supportedMimeTypes: "text/plain" } }],
    ["a count that is no whole number", { execution: { maxIterations: 1.5 } }],
    ["a deep flag of the wrong kind", { multimodal: { input: { pdf: 1 } } }],
    ["custom that is a list", { custom: [] }],
  ])("[CP-07] is dropped whole when it is invalid: %s", async (_, document) => {
    expect(readCapabilities(document)).toBeNull();
    const fetch = answering(JSON.stringify(document));
    expect(await fetchCapabilities("http://sayso.test/agents/ops", { fetch })).toBeNull();
  });

  it("[CP-07] is dropped when it is a page instead, and a failing server is told apart", async () => {
    const page = answering("<!doctype html>");
    expect(await fetchCapabilities("http://sayso.test/x", { fetch: page })).toBeNull();
    const broken = answering("", 503);
    await expect(fetchCapabilities("http://sayso.test/x", { fetch: broken })).rejects.toThrow(
      "The server answered with HTTP 503.",
    );
  });
});
