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

it("says that others have to answer where only others may answer", () => {
  show(1, 0, 1);
  expect(screen.getByRole("status")).toHaveTextContent("Others have to answer above");
  expect(screen.getByPlaceholderText("Others answer above first")).toBeVisible();
});

it("counts only what this person may answer", () => {
  show(2, 1, 1);
  expect(screen.getByRole("status")).toHaveTextContent("Answer 1 more question above");
});
