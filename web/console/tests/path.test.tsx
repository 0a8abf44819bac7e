import { render, screen } from "@testing-library/react";
import { BrowserRouter, Link, Route, Routes } from "react-router";
import { afterEach, expect, it } from "vitest";
import { userEvent } from "@testing-library/user-event";
import { playPath, threadPath, usePathParts } from "../src/thread/path.js";

function Shown() {
  return <output>{JSON.stringify(usePathParts())}</output>;
}

afterEach(() => {
  window.history.replaceState(null, "", "/");
});

it.each(["a%2Fb", "a/b", "100%", "%25", "a b+c", "ä\n#?&", "https://tickets.example/42/"])(
  "an id is what its maker chose, in an address as in a link: %j",
  async (id) => {
    render(
      <BrowserRouter>
        <Link to={threadPath("ops", id)}>Go</Link>
        <Routes>
          <Route path="thread/:agentId/:threadId" element={<Shown />} />
          <Route path="play/:agentId/:threadId" element={<Shown />} />
          <Route path="*" element={null} />
        </Routes>
      </BrowserRouter>,
    );
    await userEvent.click(screen.getByRole("link"));
    expect(screen.getByRole("status")).toHaveTextContent(JSON.stringify(["ops", id]), {
      normalizeWhitespace: false,
    });
    expect(window.location.pathname).toBe(threadPath("ops", id));
  },
);

it("an address that is no encoded text is taken as it stands, and nothing follows a last slash", () => {
  window.history.replaceState(null, "", "/play/ops/50%/");
  render(
    <BrowserRouter>
      <Shown />
    </BrowserRouter>,
  );
  expect(screen.getByRole("status")).toHaveTextContent('["ops","50%"]');
  expect(playPath("ops", "50%")).toBe("/play/ops/50%25");
});
