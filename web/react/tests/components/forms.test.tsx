import { render, screen, within } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { SchemaForm } from "../../src/components/index.js";
import type { JsonSchema, Problem } from "../../src/index.js";

beforeAll(async () => {
  // The form library is loaded lazily; loading it once keeps the first test within its time.
  await import("../../src/components/form/RjsfForm.js");
});

async function form(schema: JsonSchema, problems: readonly Problem[] = [], value?: unknown) {
  const onSubmit = vi.fn();
  render(
    <SchemaForm
      label="As JSON"
      schema={schema}
      problems={problems}
      value={value}
      onSubmit={onSubmit}
    >
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
    await userEvent.click(screen.getByRole("button", { name: "Edit as JSON" }));
    const text = screen.getByLabelText("As JSON");
    expect(text).toHaveValue('{\n  "n": 1.5\n}');
    await userEvent.clear(text);
    await userEvent.type(text, '{{"n": "2"}');
    await send();
    expect(screen.getByText("Must be a number.")).toBeVisible();
    await userEvent.clear(text);
    await userEvent.type(text, '{{"n": 2}');
    await userEvent.click(screen.getByRole("button", { name: "Back to the form" }));
    expect(await screen.findByLabelText(/^N/)).toHaveValue("2");
    await send();
    expect(onSubmit).toHaveBeenCalledWith({ n: 2 });
  });

  it.each([
    [{ enum: Array.from({ length: 10_001 }, String) }, "lists too many values to choose from"],
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

  it("finds one of three thousand options by typing, and keeps what is ticked in sight", async () => {
    const many = Array.from({ length: 3_000 }, (_, index) => ({
      const: `c${index}`,
      title: `Customer ${index}`,
    }));
    const { onSubmit, send } = await form(
      object({
        one: { title: "One", oneOf: many },
        plain: { title: "Plain", type: "string", enum: many.map((each) => each.const) },
        some: { title: "Some", type: "array", uniqueItems: true, items: { oneOf: many } },
      }),
    );
    expect(screen.queryByLabelText("As JSON")).toBeNull();
    const element = screen.getByRole("combobox", { name: "One" });
    expect(within(element).getAllByRole("option")).toHaveLength(101);
    await userEvent.type(screen.getByLabelText("Find in One"), "customer 2718");
    await userEvent.selectOptions(element, "Customer 2718");
    await userEvent.type(screen.getByLabelText("Find in Plain"), "c2999");
    await userEvent.selectOptions(screen.getByRole("combobox", { name: "Plain" }), "c2999");
    const find = screen.getByLabelText("Find in Some");
    await userEvent.type(find, "customer 1234{Enter}");
    expect(onSubmit).not.toHaveBeenCalled();
    await userEvent.click(screen.getByLabelText("Customer 1234"));
    await userEvent.clear(find);
    await userEvent.type(find, "1235");
    expect(screen.getByLabelText("Customer 1234")).toBeChecked();
    await userEvent.click(screen.getByLabelText("Customer 1235"));
    await send();
    expect(onSubmit).toHaveBeenCalledWith({
      one: "c2718",
      plain: "c2999",
      some: ["c1234", "c1235"],
    });
  });

  it("a text that was there and is cleared is the empty one, where that is allowed", async () => {
    const text = { type: "string" };
    const { onSubmit, send } = await form(
      object({ body: text, note: { ...text, default: "as usual" } }, "body"),
      [],
      { body: "a", note: "b" },
    );
    await userEvent.clear(screen.getByLabelText(/body/));
    await userEvent.clear(screen.getByLabelText("note"));
    await send();
    expect(onSubmit).toHaveBeenCalledWith({ body: "", note: "" });
  });

  it("says what holds in place of a value that was cleared, and asks for one that is needed", async () => {
    const { onSubmit, send } = await form(
      object(
        {
          code: { type: "string", pattern: "^[A-Z]+$", default: "AB" },
          copies: { type: "integer", default: 3 },
          mail: { type: "string", format: "email" },
          need: { type: "string", minLength: 1 },
        },
        "need",
      ),
      [],
      { code: "XY", copies: 5, mail: "a@b.example", need: "x" },
    );
    for (const name of [/code/, /copies/, /mail/, /need/])
      await userEvent.clear(screen.getByLabelText(name));
    expect(screen.getByLabelText("code")).toHaveAccessibleDescription(
      'Empty: the default applies, "AB".',
    );
    expect(screen.getByLabelText("copies")).toHaveAccessibleDescription(/the default applies, 3/);
    expect(screen.getByLabelText("mail")).toHaveAccessibleDescription("Empty: nothing is sent.");
    await send();
    expect(screen.getByText("Required.")).toBeVisible();
    await userEvent.type(screen.getByLabelText(/need/), "y");
    await send();
    expect(onSubmit).toHaveBeenCalledWith({ need: "y" });
  });

  it("what may be null and is empty is null, where it would be missed or be its default", async () => {
    const orNull = (type: string, more: JsonSchema = {}) => ({
      anyOf: [{ type }, { type: "null" }],
      ...more,
    });
    const { onSubmit, send } = await form(
      object(
        {
          note: orNull("string"),
          count: orNull("integer"),
          sure: orNull("boolean"),
          price: orNull("number", { default: 1.5 }),
          some: { type: "array", items: orNull("integer") },
        },
        "note",
        "count",
        "sure",
      ),
    );
    await userEvent.clear(screen.getByLabelText("price"));
    expect(screen.getByLabelText("price")).toHaveAccessibleDescription("Empty: none is sent.");
    await userEvent.click(screen.getByRole("button", { name: "Add an entry" }));
    await send();
    expect(onSubmit).toHaveBeenCalledWith({
      note: null,
      count: null,
      sure: null,
      price: null,
      some: [null],
    });
  });

  it("marks what hides in a text that is edited, in a field and in JSON", async () => {
    await form(object({ body: { type: "string" }, free: {} }), [], {
      body: "pay Ada\u202e, not Bob\nand\u200b go",
      free: "a\u0008b",
    });
    expect(screen.getByLabelText("body")).toHaveAccessibleDescription(
      /Hidden in this text: pay Ada U\+202E , not Bob\s+and U\+200B go/,
    );
    expect(screen.getByLabelText("free")).toHaveAccessibleDescription(/a U\+0008 b/);
    await userEvent.type(screen.getByLabelText("free"), "{Backspace}{Backspace}");
    expect(screen.getByLabelText("free")).toHaveAccessibleDescription("");
    await userEvent.click(screen.getByRole("button", { name: "Edit as JSON" }));
    expect(screen.getByLabelText("As JSON")).toHaveAccessibleDescription(/Ada U\+202E , not/);
  });
});
