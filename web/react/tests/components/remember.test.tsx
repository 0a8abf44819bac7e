import { render, screen } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { describe, expect, it, vi } from "vitest";
import { ApprovalBody } from "../../src/components/ApprovalBody.js";
import { shapeOf } from "../../src/core/index.js";
import { approval } from "../wire.js";

const properties = {
  approved: { type: "boolean" },
  remember: { title: "Do not ask again", anyOf: [{ type: "boolean" }, { type: "object" }] },
};

describe("an approval that may be remembered", () => {
  it.each([
    ["Approve", { approved: true, remember: true }],
    ["Deny", { approved: false }],
  ])("[V5] has a box for a yes, and for no denial: %s", async (decision, payload) => {
    const shape = shapeOf(approval("a", { responseSchema: { type: "object", properties } }));
    if (shape.kind !== "approval") throw new Error(`a ${shape.kind}`);
    const onAnswer = vi.fn();
    render(<ApprovalBody shape={shape} args={{}} problems={[]} onAnswer={onAnswer} />);
    await userEvent.click(screen.getByRole("checkbox", { name: "Do not ask again" }));
    await userEvent.click(screen.getByRole("button", { name: decision }));
    expect(onAnswer).toHaveBeenCalledWith({ status: "resolved", payload });
  });
});
