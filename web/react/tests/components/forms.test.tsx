import { render, screen, within } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { SchemaForm } from "../../src/components/index.js";
import type { JsonSchema, Problem } from "../../src/index.js";

beforeAll(async () => {
  // The form library is loaded lazily; loading it once keeps the first test within its time.
  await import("../../src/components/form/RjsfForm.js");
});

async function form(schema: JsonSchema, problems: readonly Problem[] = []) {
  const onSubmit = vi.fn();
  render(
    <SchemaForm label="As JSON" schema={schema} problems={problems} onSubmit={onSubmit}>
      <button type="submit">Answer</button>
    </SchemaForm>,
  );
  await screen.findByRole("button", { name: "Answer" });
  const send = () => userEvent.click(screen.getByRole("button", { name: "Answer" }));
  return { onSubmit, send };
}

const object = (properties: JsonSchema, ...required: string[]): JsonSchema => ({
  type: "object",
  properties,
  required,
});

describe("a schema form", () => {
  it("[S1] honours titles, defaults, limits and patterns, and sends nothing while it is invalid", async () => {
    const { onSubmit, send } = await form(
      object(
        {
          year: { type: "integer", title: "Year", minimum: 2000 },
          code: { type: "string", title: "Code", pattern: "^[A-Z]+$", default: "ab" },
          quarter: { type: "string", title: "Quarter", enum: ["Q1", "Q2"] },
        },
        "year",
        "quarter",
      ),
    );
    expect(screen.getByLabelText(/Code/)).toHaveValue("ab");
    await userEvent.type(screen.getByLabelText(/Year/), "1999");
    await send();
    expect(screen.getByText("Must be at least 2000.")).toBeVisible();
    expect(screen.getByText("Must match ^[A-Z]+$.")).toBeVisible();
    expect(screen.getByText("Required.")).toBeVisible();
    expect(screen.getByLabelText(/Year/)).toBeInvalid();
    expect(onSubmit).not.toHaveBeenCalled();
    await userEvent.clear(screen.getByLabelText(/Year/));
    await userEvent.type(screen.getByLabelText(/Year/), "2024");
    await userEvent.clear(screen.getByLabelText(/Code/));
    await userEvent.selectOptions(screen.getByLabelText(/Quarter/), "Q2");
    await send();
    expect(onSubmit).toHaveBeenCalledWith({ year: 2024, quarter: "Q2" });
  });

  it("[S2] a boolean that nobody touched is its default, or not answered at all", async () => {
    const { onSubmit, send } = await form(
      object(
        { a: { type: "boolean", title: "A", default: true }, b: { type: "boolean", title: "B" } },
        "a",
        "b",
      ),
    );
    await send();
    expect(onSubmit).not.toHaveBeenCalled();
    const b = screen.getByRole("group", { name: /^B/ });
    await userEvent.click(within(b).getByLabelText("No"));
    await send();
    expect(onSubmit).toHaveBeenCalledWith({ a: true, b: false });
  });

  it("[S3] a list of allowed values is a set of boxes", async () => {
    const items = { type: "string", enum: ["a", "b", "c"] };
    const { onSubmit, send } = await form(
      object({ tags: { type: "array", title: "Tags", uniqueItems: true, items } }),
    );
    await userEvent.click(screen.getByLabelText("a"));
    await userEvent.click(screen.getByLabelText("c"));
    await send();
    expect(onSubmit).toHaveBeenCalledWith({ tags: ["a", "c"] });
  });

  it("[S5] lists can be extended and shortened, also of objects", async () => {
    const row = object({ name: { type: "string", title: "Name" } }, "name");
    const { onSubmit, send } = await form(
      object({ rows: { type: "array", title: "Rows", items: row } }),
    );
    await userEvent.click(screen.getByRole("button", { name: "Add an entry" }));
    await userEvent.click(screen.getByRole("button", { name: "Add an entry" }));
    const [first, second] = screen.getAllByLabelText(/Name/);
    await userEvent.type(first!, "x");
    await userEvent.type(second!, "y");
    await userEvent.click(screen.getAllByRole("button", { name: "Remove this entry" })[0]!);
    await send();
    expect(onSubmit).toHaveBeenCalledWith({ rows: [{ name: "y" }] });
  });

  it("a value that may be null is left empty", async () => {
    const text = { anyOf: [{ type: "string" }, { type: "null" }], default: null, title: "Note" };
    const { onSubmit, send } = await form(object({ note: text }));
    expect(screen.getByLabelText("Note")).toHaveValue("");
    await userEvent.type(screen.getByLabelText("Note"), "hi");
    await send();
    expect(onSubmit).toHaveBeenCalledWith({ note: "hi" });
  });

  it("shows the server's complaints at nested fields", async () => {
    const inner = object({ zip: { type: "string", title: "Zip" } });
    await form(object({ address: { ...inner, title: "Address" } }), [
      { pointer: "/address/zip", message: "no such place" },
    ]);
    expect(screen.getByLabelText("Zip")).toHaveAccessibleDescription("no such place");
  });

  it("[IN-14] shows titles and descriptions as text", async () => {
    await form(
      object({
        a: { type: "string", title: "<b>A</b>", description: "[x](javascript:1) <i>d</i>" },
      }),
    );
    expect(screen.getByText("<b>A</b>")).toBeVisible();
    expect(screen.getByText("[x](javascript:1) <i>d</i>")).toBeVisible();
    expect(document.querySelector("b, i, a")).toBeNull();
  });

  it("can be written as JSON and back without losing anything", async () => {
    const { onSubmit, send } = await form(object({ n: { type: "number", title: "N" } }, "n"));
    await userEvent.type(screen.getByLabelText(/^N/), "1.5");
    await userEvent.click(screen.getByRole("button", { name: "Write it as JSON" }));
    const text = screen.getByLabelText("As JSON");
    expect(text).toHaveValue('{\n  "n": 1.5\n}');
    await userEvent.clear(text);
    await userEvent.type(text, '{{"n": "2"}');
    await send();
    expect(screen.getByText("Must be a number.")).toBeVisible();
    await userEvent.clear(text);
    await userEvent.type(text, '{{"n": 2}');
    await userEvent.click(screen.getByRole("button", { name: "Back to the form" }));
    expect(await screen.findByLabelText(/^N/)).toHaveValue(2);
    await send();
    expect(onSubmit).toHaveBeenCalledWith({ n: 2 });
  });

  it.each([
    [{ enum: Array.from({ length: 5_000 }, String) }, "lists too many values to choose from"],
    [{ properties: { a: { $ref: "https://example.com/a.json" } } }, "refers to another document"],
    [{ allOf: [{ $ref: "#" }] }, "refers to itself without an end"],
    [{ properties: { a: { type: "date" } } }, "has a type that does not exist"],
  ])("[SE-06] is not made of a schema that would keep the page busy", async (schema, why) => {
    const { onSubmit, send } = await form(schema);
    expect(screen.getByText(new RegExp(why))).toBeVisible();
    expect(screen.queryByRole("button", { name: /form/ })).toBeNull();
    await userEvent.type(screen.getByLabelText("As JSON"), "12");
    await send();
    expect(onSubmit).toHaveBeenCalledWith(12);
  });

  it("falls back to JSON when the form library cannot draw the schema", async () => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    await form({ $ref: "#/nowhere" });
    expect(await screen.findByLabelText("As JSON")).toBeVisible();
  });
});
