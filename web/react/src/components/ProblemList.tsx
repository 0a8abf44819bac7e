import type { Problem } from "../core/index.js";
import { plainText } from "./PlainText.js";

/** Complaints that have no field of their own on the screen, each with the place it is about. */
export function ProblemList({
  id,
  problems,
}: {
  readonly id?: string;
  readonly problems: readonly Problem[];
}) {
  return (
    <ul className="sayso-problems" id={id} hidden={problems.length === 0}>
      {problems.map(({ pointer, message }, index) => (
        <li key={index}>
          {pointer !== "" && <code>{plainText(pointer.slice(1))}</code>} {plainText(message)}
        </li>
      ))}
    </ul>
  );
}
