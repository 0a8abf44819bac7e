import { render, screen, waitFor, within } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { StrictMode } from "react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { setToken } from "../src/access.js";
import { App } from "../src/App.js";

const asked: { path: string; authorization: string | null }[] = [];

const DECLARED = {
  humanInTheLoop: { approvals: true, feedback: false },
  tools: {
    supported: true,
    items: [
      {
        name: "pay",
        description: "Pays a bill.",
        parameters: {
          type: "object",
          properties: {
            amount: { anyOf: [{ type: "number" }, { type: "null" }] },
            to: { type: "string" },
          },
          required: ["to"],
        },
        metadata: { sayso: { approval: "always", editable: true } },
      },
    ],
  },
  output: { supportedMimeTypes: ["image", "video"] },
  custom: { "acme:thing": 1 },
};
let declaration: unknown = DECLARED;
const APPROVAL = {
  id: "app_1",
  tool: "list_files",
  matches: "same",
  arguments: { path: "<b>docs</b>" },
  givenBy: "ada",
  givenAt: "2026-01-01T00:00:00Z",
  uses: 3,
  lastUsedAt: "2026-01-02T00:00:00Z",
};
let remembered: unknown[] = [];

/** A server that knows nobody without the right token. */
function guard(url: string, init?: RequestInit): Promise<Response> {
  const { pathname } = new URL(url);
  const authorization = new Headers(init?.headers).get("authorization");
  asked.push({ path: pathname, authorization });
  if (authorization !== "Bearer open sesame") {
    return Promise.resolve(Response.json({ code: "unauthenticated" }, { status: 401 }));
  }
  if (pathname.startsWith("/approvals/") && init?.method === "DELETE") {
    const taken = { revokedAt: "2026-01-03T00:00:00Z", revokedBy: "eve" };
    return Promise.resolve(Response.json({ ...APPROVAL, ...taken }));
  }
  if (pathname === "/approvals") {
    return Promise.resolve(Response.json({ items: remembered }));
  }
  const body =
    pathname === "/agents"
      ? { items: [{ name: "ops", description: "The demo agent." }] }
      : declaration;
  return Promise.resolve(Response.json(body));
}

function open(path: string): void {
  window.history.replaceState(null, "", path);
  render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}

beforeEach(() => {
  asked.length = 0;
  declaration = DECLARED;
  remembered = [];
  vi.stubGlobal("fetch", guard);
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => {
  setToken("");
  vi.unstubAllGlobals();
});

describe("the settings", () => {
  it("take a token that goes with every request, and sign out", async () => {
    open("/settings");
    expect(await screen.findByText("Sign in to continue.")).toBeVisible();
    await userEvent.type(await screen.findByLabelText("Token"), " open sesame {Enter}");
    expect(screen.getByText("A token is set.")).toBeVisible();
    expect(await screen.findByText("The demo agent.")).toBeVisible();
    expect(asked.at(-1)?.authorization).toBe("Bearer open sesame");
    expect(
      asked.some((item) => item.path === "/interrupts/stream" && item.authorization !== null),
    ).toBe(true);
    expect(screen.getByLabelText("Token")).toHaveValue("");
    expect(Object.values(localStorage).join()).not.toContain("sesame");
    await userEvent.click(screen.getByRole("button", { name: "Sign out" }));
    await waitFor(() => {
      expect(asked.at(-1)?.authorization).toBeNull();
    });
  });

  it("show what each agent declares", async () => {
    setToken("open sesame");
    open("/settings");
    const declared = await screen.findByLabelText("Capabilities of ops");
    expect(within(declared).getByText("Human approval")).toBeVisible();
    const facts = within(declared)
      .getAllByRole("listitem")
      .map((element) => element.textContent);
    expect(facts.slice(0, 3)).toEqual(["✓yes: approvals", "✕no: feedback", "✓yes: supported"]);
    const tool = within(declared).getByRole("list", { name: "Tools" });
    expect(tool).toHaveTextContent(/pay.*always asks, arguments can be edited.*Pays a bill/);
    await userEvent.click(within(tool).getByText("2 parameters"));
    expect(within(tool).getByText("number or null")).toBeVisible();
    expect(within(declared).getByText("image, video")).toBeVisible();
    await userEvent.click(screen.getByText("Raw JSON"));
    expect(screen.getByText(/"acme:thing": 1/)).toBeVisible();
    expect(asked.map((item) => item.path)).toContain("/agents/ops/capabilities");
  });

  it("show a declaration that is not valid as it came", async () => {
    declaration = { humanInTheLoop: { approvals: "yes" } };
    setToken("open sesame");
    open("/settings");
    expect(await screen.findByText(/declaration is not valid/)).toBeVisible();
    expect(screen.queryByLabelText("Capabilities of ops")).toBeNull();
  });

  it("list what need not be asked again, and have it asked again", async () => {
    remembered = [APPROVAL];
    setToken("open sesame");
    open("/settings");
    const list = await screen.findByRole("list", { name: "Remembered approvals" });
    expect(list).toHaveTextContent(/with exactly these arguments, in all conversations/);
    expect(within(list).getByText("<b>docs</b>")).toBeVisible();
    expect(list).toHaveTextContent(/Approved by ada.*used 3 times/);
    await userEvent.click(within(list).getByRole("button", { name: "Ask again for list_files" }));
    const said = await within(list).findByText(/Revoked by eve.*These calls ask again/);
    await waitFor(() => {
      expect(said).toHaveFocus();
    });
    expect(within(list).queryByRole("button")).toBeNull();
  });

  it("say that nothing is remembered, and how that would come", async () => {
    setToken("open sesame");
    open("/settings");
    expect(await screen.findByText("No remembered approvals.")).toBeVisible();
  });

  it("choose the theme", async () => {
    open("/settings");
    await userEvent.click(await screen.findByRole("radio", { name: "Dark" }));
    expect(document.documentElement).toHaveAttribute("data-theme", "dark");
    await userEvent.click(screen.getByRole("radio", { name: "System" }));
    expect(document.documentElement).not.toHaveAttribute("data-theme");
  });
});
