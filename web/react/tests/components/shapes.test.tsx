import { render, screen, within } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { SchemaForm } from "../../src/components/index.js";
import type { JsonSchema } from "../../src/index.js";

beforeAll(async () => {
  // The form library is loaded lazily; loading it once keeps the first test within its time.
  await import("../../src/components/form/RjsfForm.js");
});

async function form(schema: JsonSchema, value?: unknown) {
  const onSubmit = vi.fn();
  render(
    <SchemaForm label="As JSON" schema={schema} value={value} onSubmit={onSubmit}>
      <button type="submit">Answer</button>
    </SchemaForm>,
  );
  await screen.findByRole("button", { name: "Answer" });
  const send = () => userEvent.click(screen.getByRole("button", { name: "Answer" }));
  return { onSubmit, send };
}

const ADDRESS = {
  title: "Address",
  type: "object",
  properties: {
    street: { type: "string", title: "Street" },
    country: { enum: ["DE", "FR"], default: "DE", title: "Country" },
  },
  required: ["street"],
};
const ORDER = {
  $defs: { Address: ADDRESS },
  type: "object",
  properties: {
    billing_address: { $ref: "#/$defs/Address" },
    shipping: { anyOf: [{ $ref: "#/$defs/Address" }, { type: "null" }], default: null },
  },
  required: ["billing_address"],
};

describe("what a schema is drawn as", () => {
  it("is written as JSON by itself where a part of it cannot be drawn", async () => {
    const { onSubmit, send } = await form({
      type: "object",
      properties: { name: { type: "string" }, odd: { type: "tuple" } },
    });
    const field = await screen.findByRole("textbox", { name: "As JSON" });
    expect(screen.queryByText(/unsupported/i)).toBeNull();
    await userEvent.clear(field);
    await userEvent.type(field, '{{"name": "x"}');
    await send();
    expect(onSubmit).toHaveBeenCalledExactlyOnceWith({ name: "x" });
  });

  it("[S1] constants with titles are a list to pick from, also without a type", async () => {
    const { onSubmit, send } = await form({
      type: "object",
      properties: {
        target: {
          title: "Target",
          oneOf: [
            { const: "eu", title: "Europe" },
            { const: "us", title: "United States" },
          ],
        },
        size: {
          title: "Size",
          anyOf: [
            { const: 1, title: "Small" },
            { const: 2, title: "Large" },
          ],
        },
      },
      required: ["target"],
    });
    await send();
    expect(screen.getByText("Required.")).toBeVisible();
    await userEvent.selectOptions(screen.getByLabelText(/Target/), "United States");
    await userEvent.selectOptions(screen.getByLabelText("Size"), "Large");
    await send();
    expect(onSubmit.mock.calls).toEqual([[{ target: "us", size: 2 }]]);
  });

  it("[S5] two groups of one definition are told apart, and one may be left out", async () => {
    const { onSubmit, send } = await form(ORDER);
    const billing = screen.getByRole("group", { name: /Billing Address/ });
    const shipping = screen.getByRole("group", { name: /Shipping.*optional/ });
    expect(billing).not.toHaveAccessibleName(/optional/);
    await userEvent.type(within(billing).getByLabelText(/Street/), "Via Po 1");
    await send();
    expect(onSubmit).toHaveBeenLastCalledWith({
      billing_address: { street: "Via Po 1", country: "DE" },
    });
    await userEvent.selectOptions(within(shipping).getByLabelText(/Country/), "FR");
    await send();
    expect(onSubmit).toHaveBeenCalledTimes(1);
    expect(within(shipping).getByText("Required.")).toBeVisible();
    await userEvent.type(within(shipping).getByLabelText(/Street/), "Rue 2");
    await send();
    expect(onSubmit).toHaveBeenLastCalledWith({
      billing_address: { street: "Via Po 1", country: "DE" },
      shipping: { street: "Rue 2", country: "FR" },
    });
  });

  it("a group that has to be given says of its own fields what it lacks", async () => {
    const street = { type: "object", properties: { name: { type: "string", title: "Name" } } };
    const { onSubmit, send } = await form({
      $defs: { Street: { ...street, required: ["name"] } },
      type: "object",
      properties: {
        home: {
          type: "object",
          title: "Home",
          properties: { street: { $ref: "#/$defs/Street" } },
          required: ["street"],
        },
        more: { type: "object", title: "More", properties: { note: { type: "string" } } },
      },
      required: ["home", "more"],
    });
    await send();
    expect(onSubmit).not.toHaveBeenCalled();
    expect(screen.getAllByText("Required.")).toHaveLength(1);
    const name = screen.getByLabelText(/Name/);
    expect(name).toBeInvalid();
    expect(name).toHaveFocus();
    await userEvent.type(name, "Via Po");
    await send();
    expect(onSubmit.mock.calls).toEqual([[{ home: { street: { name: "Via Po" } }, more: {} }]]);
  });

  it("a group within itself without an end is not filled in", async () => {
    const Part = {
      type: "object",
      properties: { name: { type: "string", title: "Name" }, part: { $ref: "#/$defs/Part" } },
      required: ["part"],
    };
    const { onSubmit, send } = await form({
      $defs: { Part },
      type: "object",
      properties: { whole: { $ref: "#/$defs/Part" } },
      required: ["whole"],
    });
    await send();
    expect(onSubmit).not.toHaveBeenCalled();
    expect(screen.getByLabelText("Name")).toBeValid();
    expect(screen.getByRole("button", { name: "Show fields" })).toBeVisible();
  });

  it("of two forms to choose from, only the chosen one is said to lack something", async () => {
    const kind = (name: string, field: string) => ({
      title: name,
      type: "object",
      properties: {
        kind: { const: name, title: "Kind" },
        [field]: { type: "string", title: field, minLength: 2 },
      },
      required: ["kind", field],
    });
    const { onSubmit, send } = await form({
      type: "object",
      properties: { by: { oneOf: [kind("card", "Number"), kind("cash", "Till")], title: "By" } },
      required: ["by"],
    });
    await userEvent.type(screen.getByLabelText(/Number/), "1");
    await send();
    expect(onSubmit).not.toHaveBeenCalled();
    expect(screen.getByText("Must have at least 2 characters.")).toBeVisible();
    for (const other of [/Required/, /allowed/]) expect(screen.queryByText(other)).toBeNull();
    await userEvent.type(screen.getByLabelText(/Number/), "2");
    await send();
    expect(onSubmit.mock.calls).toEqual([[{ by: { kind: "card", Number: "12" } }]]);
  });

  it("a group that lacks nothing keeps its defaults", async () => {
    const { onSubmit, send } = await form({
      type: "object",
      properties: {
        look: { type: "object", properties: { dark: { type: "string", default: "no" } } },
      },
    });
    await send();
    expect(onSubmit).toHaveBeenCalledWith({ look: { dark: "no" } });
  });

  it("what may be anything is written as JSON or plain text, in its own field", async () => {
    const { onSubmit, send } = await form(
      {
        type: "object",
        properties: {
          any: { title: "Any" },
          options: { title: "Options", type: "object", additionalProperties: true },
          list: { title: "List", type: "array" },
        },
      },
      { options: { a: [1] }, list: ["x"] },
    );
    expect(screen.getByLabelText("Options")).toHaveValue('{\n  "a": [\n    1\n  ]\n}');
    await userEvent.type(screen.getByLabelText("Any"), "hello");
    await userEvent.clear(screen.getByLabelText("Options"));
    await userEvent.type(screen.getByLabelText("Options"), "nonsense");
    await send();
    expect(screen.getByText(/object/)).toBeVisible();
    expect(onSubmit).not.toHaveBeenCalled();
    await userEvent.clear(screen.getByLabelText("Options"));
    await userEvent.type(screen.getByLabelText("Options"), '{{"b": null}');
    await send();
    expect(onSubmit).toHaveBeenCalledWith({ any: "hello", options: { b: null }, list: ["x"] });
  });

  it("[S1] the one of several shapes that is chosen has its fixed members", async () => {
    const shape = (mode: string, more: JsonSchema = {}) => ({
      title: mode,
      type: "object",
      properties: { mode: { const: mode }, ...more },
      required: ["mode"],
    });
    const { onSubmit, send } = await form({
      type: "object",
      properties: {
        plan: {
          title: "Plan",
          oneOf: [shape("now"), shape("later", { hours: { type: "integer" } })],
        },
      },
      required: ["plan"],
    });
    await userEvent.selectOptions(screen.getByRole("combobox"), "later");
    expect(screen.getByLabelText(/mode/)).toHaveAttribute("readonly");
    await userEvent.type(screen.getByLabelText(/hours/), "3");
    await send();
    expect(onSubmit).toHaveBeenCalledWith({ plan: { mode: "later", hours: 3 } });
  });

  it("members that the person names are named and given there", async () => {
    const { onSubmit, send } = await form({
      type: "object",
      properties: { labels: { type: "object", additionalProperties: { type: "string" } } },
    });
    await userEvent.click(screen.getByRole("button", { name: "Add an entry" }));
    const name = screen.getByLabelText("Name");
    await userEvent.clear(name);
    await userEvent.type(name, "team");
    await userEvent.tab();
    await userEvent.type(screen.getByLabelText("team"), "core");
    await send();
    expect(onSubmit).toHaveBeenCalledWith({ labels: { team: "core" } });
  });

  it.each([
    [{ type: ["string", "null"] }, "textbox"],
    [{ enum: ["a", "b"] }, "combobox"],
    [{}, "textbox"],
  ])("a single field without a name has one: %j", async (schema, role) => {
    await form(schema);
    expect(screen.getByRole(role)).toHaveAccessibleName(/Your answer/);
  });
});
