import { render, screen } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { StrictMode } from "react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { App } from "../src/App.js";
import { FakeServer } from "./server.js";

vi.unmock("../src/ErrorPage.js");
vi.mock("../src/thread/ThreadsPage.js", () => {
  throw new TypeError("Failed to fetch dynamically imported module: ThreadsPage-old.js");
});

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.unstubAllGlobals();
});

it("a view that the server no longer has says so, and the others go on", async () => {
  new FakeServer().install();
  window.history.replaceState(null, "", "/thread");
  render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
  expect(await screen.findByRole("heading", { name: "This page did not load" })).toBeVisible();
  expect(screen.getByRole("button", { name: "Reload the page" })).toBeVisible();
  await userEvent.click(screen.getByRole("link", { name: "Playground" }));
  expect(await screen.findByRole("textbox", { name: "Message" })).toBeVisible();
});
