import { plainText } from "@sayso/react/components";
import { labelOf, personName } from "@sayso/react/core";
import { isRecord, recordsOf, textOrNull } from "../rest.js";
import type { AuditRow } from "./trail.js";

/** What rows tell of, for people. */
const KINDS: Readonly<Record<string, string>> = {
  asked: "Asked",
  held: "Answer kept",
  withdrawn: "Answer taken back",
  agreed: "Agreed",
  extended: "Given more time",
  assigned: "Assigned",
  reminded: "Reminded",
  lapsed: "Time ran out",
  resolved: "Answered",
  cancelled: "Cancelled",
  expired: "Expired",
  viewed: "Looked at",
  revealed: "Secret shown",
  refused: "Refused",
  started: "Started",
  executed: "Done",
  denied: "Denied",
  failed: "Failed",
  indeterminate: "Unclear whether it ran",
  reported_call: "Call made elsewhere",
  reported_decision: "Ruled on a call elsewhere",
  reported_result: "Result of a call elsewhere",
  edited: "State edited",
  stopped: "Stopped",
  forked: "Copied",
  deleted: "Deleted",
  hold: "Put on hold",
  unhold: "Hold lifted",
  remembered: "Approval remembered",
  revoked: "Approval no longer remembered",
  exported: "Trail exported",
  erased: "Erased",
  signed_in: "Signed in",
  signed_out: "Signed out",
  service_added: "Service added",
  service_revoked: "Service revoked",
};

/** Members of a question, for people. */
const MEMBERS: Readonly<Record<string, string>> = {
  question: "The question",
  status: "Whether it is settled",
  payload: "The answer",
  by: "Who decided",
  channel: "The way it was answered",
  agreed: "Who agreed",
  message: "The question's text",
  metadata: "What was shown beside it",
  reason: "The kind of question",
  toolCallId: "The call",
  schemaDigest: "The form",
  expiresAt: "The time it has",
};

/** Ways in which something came, for people. */
const WAYS: Readonly<Record<string, string>> = {
  inbox: "in the inbox",
  run: "in the conversation",
  session: "in the conversation",
  http: "over the network",
  command: "by command",
  fork: "by copying",
  restart: "by starting again",
};

const UNITS: readonly (readonly [number, string])[] = [
  [86_400, "day"],
  [3_600, "hour"],
  [60, "minute"],
  [1, "second"],
];

/** The kind of a row in words. */
export function kindWords(kind: string): string {
  const words = kind.replaceAll("_", " ");
  return KINDS[kind] ?? words.charAt(0).toUpperCase() + words.slice(1);
}

/** A member of a question in words. */
export function memberWords(member: string): string {
  return MEMBERS[member] ?? plainText(member);
}

/** What a row is about: a tool, or the kind of a question. */
export function aboutOf(row: AuditRow): string | null {
  const tool = textOrNull(row.content?.tool);
  if (tool !== null) return plainText(tool);
  const reason = textOrNull(row.content?.reason);
  // The trail alone tells of calls of the client's own tools; a hold has a reason in free text.
  if (reason === null || row.content?.interruptId === undefined) return null;
  return reason === "sayso:client-tool" ? "Client tool" : labelOf({ id: "", reason });
}

/** Who did it, in words; null where a row names nobody. */
export function whoOf({ content }: AuditRow): string | null {
  const by = textOrNull(content?.by) ?? textOrNull(memberOf(content?.answer, "by"));
  if (by === null) return null;
  if (by === "sayso:command") return "whoever ran the command";
  return by.startsWith("sayso:") ? "Sayso itself" : plainText(personName(by));
}

/** Everybody whom a row names. */
export function peopleOf({ content }: AuditRow): readonly string[] {
  if (content === undefined) return [];
  const people = [content.by, content.to, content.for, memberOf(content.answer, "by")];
  if (Array.isArray(content.approvers)) people.push(...(content.approvers as unknown[]));
  for (const { by } of [...recordsOf(content.agreed), ...recordsOf(content.approvals)]) {
    people.push(by);
  }
  return [...new Set(people.filter((one) => typeof one === "string" && one !== ""))] as string[];
}

/**
 * What shows that it was this person, a sentence each: as whom, how they were known, which way.
 *
 * What else proves a row, such as a signature, is a sentence here.
 */
export function proofOf(row: AuditRow): readonly string[] {
  const { content, at } = row;
  if (content === undefined) return [];
  const voices = [content, content.answer, ...recordsOf(content.agreed)].filter(isRecord);
  return voices.flatMap((voice) => {
    const said = [
      asWhom(voice.roles),
      signedIn(voice.proof, at),
      way(voice.channel),
      shownTo(voice.proof),
    ];
    const words = said.filter((text) => text !== null).join(", ");
    if (words === "") return [];
    const name = textOrNull(voice.by);
    const who = voice === content || name === null ? "" : `${plainText(personName(name))}: `;
    return [who === "" ? words.charAt(0).toUpperCase() + words.slice(1) : who + words];
  });
}

function asWhom(roles: unknown): string | null {
  if (!Array.isArray(roles) || roles.length === 0) return null;
  return `as ${roles.map((role) => plainText(String(role))).join(", ")}`;
}

function signedIn(proof: unknown, at: string | null): string | null {
  if (!isRecord(proof)) return null;
  const issuer = textOrNull(proof.issuer);
  const from = issuer === null ? "" : ` by ${plainText(hostOf(issuer))}`;
  const service = proof.kind === "service" ? "a service, " : "";
  const since = typeof proof.authTime === "number" && at !== null ? proof.authTime : null;
  if (since === null) return issuer === null ? null : `${service}signed in${from}`;
  return `${service}signed in ${lengthOf(Date.parse(at ?? "") - since)} before${from}`;
}

/** What somebody was shown who decided; null where nothing says whether that was told. */
function shownTo(proof: unknown): string | null {
  if (!isRecord(proof) || !("shown" in proof)) return null;
  const shown =
    textOrNull(proof.shown) === null
      ? "by a client that did not say what it showed"
      : "shown what the trail has of the question";
  return "argumentsAfter" in proof ? `${shown}, with other arguments` : shown;
}

function way(channel: unknown): string | null {
  const name = textOrNull(channel);
  return name === null ? null : (WAYS[name] ?? `by way of ${plainText(name)}`);
}

function hostOf(issuer: string): string {
  return URL.canParse(issuer) ? new URL(issuer).host : issuer;
}

/** A time that passed, in its greatest unit. */
function lengthOf(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  const [size, unit] = UNITS.find(([least]) => seconds >= least) ?? [1, "second"];
  const count = Math.floor(seconds / size);
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}

function memberOf(value: unknown, name: string): unknown {
  return isRecord(value) ? value[name] : undefined;
}
