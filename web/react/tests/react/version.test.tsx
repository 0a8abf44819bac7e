import { render, screen } from "@testing-library/react";
import { version } from "react";
import { version as dom } from "react-dom";
import { expect, inject, it } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** The release of React that a run is for. */
    reactMajor: string;
  }
}

it("runs under the release of React that this run is for", () => {
  const major = inject("reactMajor");
  expect([version, dom].map((text) => text.split(".")[0])).toEqual([major, major]);
  render(<p>{version}</p>);
  expect(screen.getByText(version)).toBeVisible();
});
