import { render, screen, waitFor } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

let signedIn: boolean;
let away: boolean;
const asked: string[] = [];

/** A server whose people sign in at id.example.org. */
function server(url: string, init?: RequestInit): Promise<Response> {
  const { pathname } = new URL(url);
  asked.push(`${init?.method ?? "GET"} ${pathname}`);
  if (pathname === "/logout") {
    if (away) return Promise.resolve(new Response(null, { status: 503 }));
    signedIn = false;
    return Promise.resolve(new Response(null, { status: 204 }));
  }
  if (!signedIn) {
    return Promise.resolve(Response.json({ code: "unauthenticated" }, { status: 401 }));
  }
  if (pathname === "/me") {
    return Promise.resolve(Response.json({ subject: "lea", roles: ["lead"] }));
  }
  return Promise.resolve(Response.json(pathname === "/agents" ? [] : { items: [] }));
}

async function open(path: string) {
  vi.resetModules();
  window.history.replaceState(null, "", path);
  const { App } = await import("../src/App.js");
  render(<App />);
}

beforeEach(() => {
  signedIn = true;
  away = false;
  asked.length = 0;
  const mark = document.createElement("meta");
  mark.name = "sayso-sign-in";
  mark.content = "id.example.org";
  document.head.append(mark);
  vi.stubGlobal("fetch", server);
});
afterEach(() => {
  document.head.querySelector("meta[name=sayso-sign-in]")?.remove();
  vi.unstubAllGlobals();
  sessionStorage.clear();
  localStorage.clear();
});

it("whoever is not signed in is led there, and back to the same page", async () => {
  signedIn = false;
  await open("/settings?tab=a");
  expect(await screen.findByText("Sign in to continue.")).toBeVisible();
  await open("/play/desk?x=1");
  expect(await screen.findByRole("heading", { name: "Sign in to continue" })).toBeVisible();
  const link = screen.getByRole("link", { name: "Continue with id.example.org" });
  expect(link).toHaveAttribute("href", expect.stringContaining("/login?return=%2Fplay%2Fdesk%3Fx"));
  expect(screen.queryByLabelText("Token")).toBeNull();
});

it.each(["/trail", "/thread", "/thread/desk/t-1", "/inbox"])(
  "whoever opens %s is led to sign in as well",
  async (path) => {
    signedIn = false;
    await open(path);
    expect(await screen.findByRole("heading", { name: "Sign in to continue" })).toBeVisible();
    const link = screen.getByRole("link", { name: "Continue with id.example.org" });
    expect(link).toHaveAttribute(
      "href",
      expect.stringContaining(`return=${encodeURIComponent(path)}`),
    );
  },
);

it("who has signed in is named, and signs out", async () => {
  await open("/settings");
  expect(await screen.findByText("Signed in as", { exact: false })).toHaveTextContent("lea · lead");
  sessionStorage.setItem("sayso:form:int_1", "half written");
  const [out] = screen.getAllByRole("button", { name: "Sign out" });
  if (out === undefined) throw new Error("no way out");
  away = true;
  await userEvent.click(out);
  expect(await screen.findByText("Not signed out. Try again.")).toBeVisible();
  away = false;
  await userEvent.click(out);
  await waitFor(() => {
    expect(screen.queryByRole("button", { name: "Sign out" })).toBeNull();
  });
  expect(asked).toContain("POST /logout");
  expect(sessionStorage.getItem("sayso:form:int_1")).toBeNull();
});

it("what another tab does to the session is noticed", async () => {
  await open("/settings");
  await screen.findAllByRole("button", { name: "Sign out" });
  signedIn = false;
  window.dispatchEvent(new StorageEvent("storage", { key: "sayso-session", newValue: "out 1" }));
  await waitFor(() => {
    expect(screen.queryByRole("button", { name: "Sign out" })).toBeNull();
  });
  signedIn = true;
  window.dispatchEvent(new StorageEvent("storage", { key: "sayso-session", newValue: "in 2" }));
  expect(await screen.findAllByRole("button", { name: "Sign out" })).not.toHaveLength(0);
});
