import "@testing-library/jest-dom/vitest";
import { cleanup, configure } from "@testing-library/react";
import { afterEach, beforeEach, vi } from "vitest";

// A busy machine takes its time.
configure({ asyncUtilTimeout: 120_000 });

beforeEach(() => {
  // The document of the tests has no layout, so there is nothing to scroll.
  Element.prototype.scrollIntoView = vi.fn();
});

afterEach(cleanup);
