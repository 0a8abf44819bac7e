import { render, screen } from "@testing-library/react";
import { useEffect, useState } from "react";
import { expect, it, vi } from "vitest";
import { ErrorPage } from "../src/ErrorPage.js";
import { takeFailure } from "./failures.js";

function Broken() {
  const [broken, setBroken] = useState(false);
  useEffect(() => {
    const timer = setTimeout(setBroken, 10, true);
    return () => {
      clearTimeout(timer);
    };
  }, []);
  if (broken) throw new Error("the view is broken");
  return <p>Loading</p>;
}

it("a look at a view that throws fails at once, with its error", async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined); // React tells of it as well
  render(
    <ErrorPage>
      <Broken />
    </ErrorPage>,
  );
  await expect(screen.findByText("Loaded")).rejects.toThrow("the view is broken");
  expect(takeFailure()).toEqual(new Error("the view is broken"));
}, 10_000);
