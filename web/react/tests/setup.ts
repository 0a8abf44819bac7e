import "@testing-library/jest-dom/vitest";
import { cleanup } from "@testing-library/react";
import { afterEach, beforeEach, vi } from "vitest";

beforeEach(() => {
  // The document of the tests has no layout, so there is nothing to scroll.
  Element.prototype.scrollIntoView = vi.fn();
});

afterEach(cleanup);
