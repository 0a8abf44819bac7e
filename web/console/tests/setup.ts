import "@testing-library/jest-dom/vitest";
import { cleanup, configure } from "@testing-library/react";
import { afterEach, beforeAll, beforeEach, vi } from "vitest";
import { failLooksAtOnce } from "./failures.js";

// A busy machine takes its time over what is loaded when it is needed.
configure({ asyncUtilTimeout: 120_000 });

// Nothing stands in for a view that throws: its test fails with the error. A test of what does
// unmocks it.
vi.mock("../src/ErrorPage.js", () => ({
  ErrorPage: ({ children }: { readonly children: unknown }) => children,
}));
failLooksAtOnce();

// Files of tests may share a window.
beforeAll(() => {
  localStorage.clear();
  sessionStorage.clear();
});
beforeEach(() => {
  // Most tests look at a question after they have decided it, and wait for nothing.
  localStorage.setItem("sayso-next", "off");
  localStorage.setItem("sayso-undo", "off");
  Element.prototype.scrollIntoView = vi.fn();
});
afterEach(cleanup);
