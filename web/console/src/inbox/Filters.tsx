import { labelOf, type InboxItem } from "@sayso/react/core";
import { useId, type RefObject } from "react";
import { kinds, type Filter } from "./filter.js";

type Option = readonly [value: string, label: string];

const AGES: readonly Option[] = [
  ["", "Any age"],
  ["10", "Over 10 minutes"],
  ["60", "Over an hour"],
  ["1440", "Over a day"],
];
const DUES: readonly Option[] = [
  ["", "Any deadline"],
  ["60", "Within an hour"],
  ["1440", "Within a day"],
  ["never", "No deadline"],
  ["over", "Expired"],
];

/** Narrows the list down; the choices are what the list has. */
export function Filters(props: {
  readonly filter: Filter;
  readonly items: readonly InboxItem[];
  readonly search: RefObject<HTMLInputElement | null>;
  readonly onChange: (filter: Filter) => void;
}) {
  const { filter, items, search, onChange } = props;
  const id = useId();
  const agents = kinds(items, (inboxItem) => inboxItem.agent);
  const reasons = kinds(items, (inboxItem) => inboxItem.interrupt.reason);
  const listed = (
    values: readonly string[],
    all: string,
    now: string,
    wordsOf: (value: string) => string = String,
  ): readonly Option[] => [
    ["", all],
    ...[...new Set([...values, ...(now === "" ? [] : [now])])].map((value): Option => [
      value,
      wordsOf(value),
    ]),
  ];
  const choose = (key: keyof Filter, label: string, options: readonly Option[]) => (
    <label>
      <span className="sayso-sr">{label}</span>
      <select
        value={filter[key]}
        data-set={filter[key] !== ""}
        onChange={({ target }) => {
          onChange({ ...filter, [key]: target.value });
        }}
      >
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <search className="filters">
      <label className="sayso-sr" htmlFor={id}>
        Find in the inbox
      </label>
      <input
        id={id}
        ref={search}
        className="sayso-input"
        type="search"
        placeholder="Find"
        value={filter.text}
        onChange={({ target }) => {
          onChange({ ...filter, text: target.value });
        }}
        onKeyDown={(event) => {
          if (event.key === "Escape" || event.key === "Enter") event.currentTarget.blur();
        }}
      />
      {choose("agent", "Agent", listed(agents, "All agents", filter.agent))}
      {choose(
        "reason",
        "Reason",
        listed(reasons, "All reasons", filter.reason, (reason) => labelOf({ id: "", reason })),
      )}
      {choose("age", "Age", AGES)}
      {choose("due", "Deadline", DUES)}
    </search>
  );
}
