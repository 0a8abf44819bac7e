import { cleanup, render, screen, within } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { StrictMode } from "react";
import { afterEach, describe, expect, it, vi } from "vitest";
import { App } from "../src/App.js";

const AT = "2026-01-01T00:00:00Z";
const NOTED = [
  { number: 1, at: AT, kind: "exported", digest: "d-1", content: { by: "sayso:command" } },
  { number: 2, at: AT, kind: "revoked", digest: "d-2", content: { by: "lea", tool: "pay" } },
];

function open(path: string, roles: readonly string[]): void {
  vi.stubGlobal("fetch", (address: string) => {
    const { pathname, searchParams } = new URL(address);
    if (pathname === "/me") return Promise.resolve(Response.json({ subject: "aud", roles }));
    if (pathname === "/threads") return Promise.resolve(Response.json({ items: [] }));
    if (pathname === "/audit" && searchParams.get("of") === "tenant") {
      const told = roles.includes("auditor")
        ? Response.json({ items: NOTED, chain: { rows: 2, intact: true } })
        : Response.json({ code: "not_allowed", detail: "The role reads it." }, { status: 403 });
      return Promise.resolve(told);
    }
    return Promise.resolve(Response.json({ detail: "There is no such thing." }, { status: 404 }));
  });
  window.history.replaceState(null, "", path);
  render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}

afterEach(() => {
  vi.unstubAllGlobals();
});

describe("what belongs to no conversation", () => {
  it("is a page for auditors, led to from the conversations", async () => {
    open("/thread", ["auditor"]);
    await userEvent.click(await screen.findByRole("link", { name: "Audit trail of this tenant" }));
    expect(await screen.findByRole("heading", { name: "Of this tenant" })).toBeVisible();
    expect(await screen.findByText("Intact: 2 rows, all unchanged.")).toBeVisible();
    const rows = within(screen.getByRole("list", { name: "Audit" })).getAllByRole("listitem");
    expect(rows[0]).toHaveTextContent("Trail exportedby whoever ran the command");
    expect(rows[1]).toHaveTextContent("Approval no longer rememberedpayby lea");
  });

  it("is nothing for others: no link, and at its address the reason", async () => {
    open("/thread", []);
    expect(await screen.findByRole("heading", { name: "Conversations" })).toBeVisible();
    expect(screen.queryByRole("link", { name: /Audit trail/ })).toBeNull();
    vi.unstubAllGlobals();
    cleanup();
    open("/trail", []);
    expect(await screen.findByRole("alert")).toHaveTextContent("You may not do that here.");
  });
});
