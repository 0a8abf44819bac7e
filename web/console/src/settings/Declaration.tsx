import { readCapabilities, writeJson } from "@sayso/react/core";
import { ArgumentTable, PlainText } from "@sayso/react/components";
import { isRecord, recordsOf, textOrNull } from "../rest.js";
import { Tool } from "./Tool.js";
import { wordsFor } from "./labels.js";

type Members = Readonly<Record<string, unknown>>;

/** The titles of a declaration's parts; a part that is not named here goes by its own name. */
const TITLES: Readonly<Record<string, string>> = {
  identity: "Agent",
  humanInTheLoop: "Human approval",
  tools: "Tools",
  multiAgent: "Other agents",
  state: "State",
  transport: "Transport",
  output: "Output",
  reasoning: "Reasoning",
  multimodal: "Media",
  execution: "Execution",
  custom: "Custom",
};

/** Lists that are drawn below the facts of their part. */
const LISTS: ReadonlySet<string> = new Set(["items", "subagents"]);

/**
 * An agent's declaration, part by part: what holds, what does not, and what it says in numbers and
 * words. What it leaves out is neither, so it is left out here too (CP-06). One that is not valid is
 * shown as it came, and nothing of it is used (CP-07).
 */
export function Declaration({ value, name }: { readonly value: unknown; readonly name: string }) {
  const read = readCapabilities(value);
  const whole = (
    <details className="sayso-details">
      <summary>Raw JSON</summary>
      <pre className="sayso-json">{writeJson(value, 2)}</pre>
    </details>
  );
  if (read === null) {
    return (
      <>
        <p>This declaration is not valid, so it is not used.</p>
        {whole}
      </>
    );
  }
  const parts = partsOf(read);
  return (
    <>
      {parts.length === 0 && <p className="sayso-quiet">It declares no capabilities.</p>}
      <dl className="declared" aria-label={`Capabilities of ${name}`}>
        {parts.map(([part, members]) => (
          <div key={part}>
            <dt>{TITLES[part] ?? part}</dt>
            <dd>
              <Part part={part} members={members} />
            </dd>
          </div>
        ))}
      </dl>
      {whole}
    </>
  );
}

function Part({ part, members }: { readonly part: string; readonly members: unknown }) {
  if (!isRecord(members) || part === "custom") {
    return <ArgumentTable value={members} label={TITLES[part] ?? part} />;
  }
  const flat = flatten(members);
  const flags = flat.filter((item): item is [string, boolean] => typeof item[1] === "boolean");
  const said = flat.filter(([, value]) => typeof value !== "boolean");
  const tools = part === "tools" ? recordsOf(members.items) : [];
  const subagents = part === "multiAgent" ? recordsOf(members.subagents) : [];
  return (
    <>
      {flags.length > 0 && (
        <ul className="facts">
          {flags.map(([name, holds]) => (
            <li key={name} data-holds={holds}>
              <span aria-hidden="true">{holds ? "✓" : "✕"}</span>
              <span className="sayso-sr">{holds ? "yes: " : "no: "}</span>
              {wordsFor(name)}
            </li>
          ))}
        </ul>
      )}
      {said.length > 0 && (
        <ul className="facts">
          {said.map(([name, value]) => (
            <li key={name}>
              <span className="sayso-quiet">{wordsFor(name)}</span> <Said value={value} />
            </li>
          ))}
        </ul>
      )}
      {tools.length > 0 && (
        <ul className="declared-list" aria-label="Tools">
          {tools.map((tool, index) => (
            <Tool key={index} tool={tool} />
          ))}
        </ul>
      )}
      {subagents.length > 0 && (
        <ul className="declared-list" aria-label="Other agents">
          {subagents.map((subagent, index) => (
            <li key={index}>
              <code>
                <PlainText text={String(subagent.name)} />
              </code>{" "}
              <span className="sayso-quiet" dir="auto">
                <PlainText text={textOrNull(subagent.description) ?? ""} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function Said({ value }: { readonly value: unknown }) {
  const text = Array.isArray(value) && value.every(isPlain) ? value.join(", ") : value;
  if (!isPlain(text)) return <ArgumentTable value={text} label="Details" />;
  return (
    <span dir="auto">
      <PlainText text={String(text)} />
    </span>
  );
}

function partsOf(read: Members): readonly (readonly [string, unknown])[] {
  const list = Object.keys(TITLES).filter((part) => Object.hasOwn(read, part));
  const others = Object.keys(read).filter((part) => !Object.hasOwn(TITLES, part));
  return [...list, ...others]
    .map((part) => [part, read[part]] as const)
    .filter(([, one]) => said(one));
}

/** Members of members are named after both, as `input image`. */
function flatten(members: Members, prefix = ""): readonly (readonly [string, unknown])[] {
  return Object.entries(members).flatMap(([name, value]) => {
    if (LISTS.has(name) && Array.isArray(value)) return [];
    const whole = prefix === "" ? name : `${prefix} ${name}`;
    const nested =
      isRecord(value) && Object.values(value).every((item) => typeof item === "boolean");
    return nested ? flatten(value, whole) : said(value) ? [[whole, value] as const] : [];
  });
}

function said(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return isRecord(value) ? Object.keys(value).length > 0 : value !== null && value !== "";
}

function isPlain(value: unknown): value is string | number {
  return typeof value === "string" || typeof value === "number";
}
