import { render, screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { Composer } from "../src/playground/Composer.js";

const nothing = () => undefined;

function show(open: number, unanswered: number, others: number) {
  render(
    <Composer
      text=""
      onText={nothing}
      open={open}
      unanswered={unanswered}
      others={others}
      running={false}
      calls={0}
      queued={[]}
      stop={null}
      onSend={nothing}
      onUnqueue={nothing}
      onSteerAway={nothing}
    />,
  );
}

it("waits for somebody else where only others may answer", () => {
  show(1, 0, 1);
  expect(screen.getByRole("status")).toHaveTextContent("waits for somebody else");
  expect(screen.getByPlaceholderText("Others decide above first")).toBeVisible();
});

it("counts only what this person may answer", () => {
  show(2, 1, 1);
  expect(screen.getByRole("status")).toHaveTextContent("waits for one more answer above");
});
