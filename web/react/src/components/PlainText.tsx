import { Fragment } from "react";
import { LOOKALIKES, PICTURES, SPACES, UNSEEN } from "./unseenTable.js";

/* A picture of several characters is left whole: joiners and a selector inside an emoji
   sequence, the tags of a region's flag. */
const PICTURE = String.raw`[${PICTURES}](?:\uFE0F|[\u{1F3FB}-\u{1F3FF}])?`;
const FLAG = String.raw`\u{1F3F4}[\u{E0030}-\u{E0039}\u{E0061}-\u{E007A}]{3,6}\u{E007F}`;
const KEYCAP = String.raw`[0-9#*]\uFE0F\u20E3`;
const WHOLE = String.raw`${FLAG}|${KEYCAP}|${PICTURE}(?:\u200D${PICTURE})*`;
const FOUND = new RegExp(`(?<whole>${WHOLE})|(?<unseen>[${UNSEEN}])|(?<space>[${SPACES}])`, "gu");

const LOOKALIKE = new RegExp(`[${LOOKALIKES}]`, "u");
const DOTS = ".\u3002\uff0e\uff61";
const WORD = String.raw`[\p{L}\p{M}\p{N}_\-]+`;
const HOST = new RegExp(`(?<said>://|@)?(?<host>${WORD}(?:[${DOTS}]${WORD})*)`, "gu");
const LABEL = new RegExp(`[^${DOTS}]+`, "gu");

interface Part {
  readonly text: string;
  /** The name of a character that hides or poses as another, or of a space that is not the usual one. */
  readonly unseen?: string;
  readonly space?: string;
}

/**
 * A text exactly as it is: what has no look of its own, or changes how the text around it reads, is
 * spelled out, so that nothing hides. So are letters in the name of a host that look like Latin ones.
 * A space that is not the usual one is a space with a mark.
 */
export function PlainText({ text }: { readonly text: string }) {
  const parts = partsOf(text);
  if (parts.every((part) => part.unseen === undefined && part.space === undefined))
    return <>{text}</>;
  return (
    <>
      {parts.map((part, index) => (
        <Fragment key={index}>
          {part.unseen !== undefined ? (
            <bdi className="sayso-unseen">{part.unseen}</bdi>
          ) : part.space !== undefined ? (
            <span className="sayso-space" title={part.space}>
              {part.text}
            </span>
          ) : (
            part.text
          )}
        </Fragment>
      ))}
    </>
  );
}

/** The same as a string, for where no element fits. */
export function plainText(text: string): string {
  return partsOf(text)
    .map((part) => part.unseen ?? (part.space === undefined ? part.text : " "))
    .join("");
}

/** So many places are told, with so many characters before and behind each. */
const [PLACES, AROUND] = [5, 12];

/** The places of a text in which something hides, cut out with what stands around it. */
export function hiddenIn(text: string): {
  readonly places: readonly string[];
  readonly more: number;
} {
  const spans: [number, number][] = [];
  for (const { at, length } of marksOf(text)) {
    const last = spans.at(-1);
    const [from, to] = [Math.max(0, at - AROUND), at + length + AROUND];
    if (last !== undefined && from <= last[1]) last[1] = to;
    else spans.push([from, to]);
  }
  const places = spans.slice(0, PLACES).map(([from, to]) => text.slice(from, to));
  return { places, more: spans.length - places.length };
}

/** True if something hides in a text. */
export function hides(text: string): boolean {
  return marksOf(text).length > 0;
}

function marksOf(text: string): readonly { readonly at: number; readonly length: number }[] {
  let index = 0;
  return partsOf(text).flatMap((part) => {
    const mark = { at: index, length: part.text.length };
    index += mark.length;
    return part.unseen === undefined ? [] : [mark];
  });
}

function partsOf(text: string): readonly Part[] {
  const marks = [...text.matchAll(FOUND)].flatMap(({ index, 0: found, groups }) =>
    groups?.whole === undefined ? [{ index, found, isSpace: groups?.unseen === undefined }] : [],
  );
  for (const [index, found] of posing(text)) marks.push({ index, found, isSpace: false });
  marks.sort((a, b) => a.index - b.index);
  const parts: Part[] = [];
  let from = 0;
  for (const { index, found, isSpace } of marks) {
    parts.push({ text: text.slice(from, index) });
    const name = `U+${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
    parts.push(isSpace ? { text: found, space: name } : { text: found, unseen: name });
    from = index + found.length;
  }
  parts.push({ text: text.slice(from) });
  return parts;
}

/**
 * Letters in names of hosts that look like Latin ones, where nothing else in their part of the name
 * tells them apart; each with its place.
 */
function posing(text: string): readonly (readonly [number, string])[] {
  if (!LOOKALIKE.test(text)) return [];
  const list: (readonly [number, string])[] = [];
  for (const { index, groups } of text.matchAll(HOST)) {
    const [said = "", host = ""] = [groups?.said, groups?.host];
    const certain = said !== "";
    if (!certain && !/[.\u3002\uff0e\uff61]/.test(host)) continue;
    if (!/[a-z]/i.test(host)) continue;
    // Who reads a host reads it in small letters; a word in capitals is just a word.
    const poses = (item: string) => LOOKALIKE.test(certain ? item : item.toLowerCase());
    for (const label of host.matchAll(LABEL)) {
      const letters = [...label[0].matchAll(/\p{L}/gu)];
      if (!letters.every(([one]) => /[a-z]/i.test(one) || poses(one))) continue;
      for (const { index: at, 0: one } of letters) {
        if (!/[a-z]/i.test(one)) list.push([index + said.length + label.index + at, one]);
      }
    }
  }
  return list;
}
