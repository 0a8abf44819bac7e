import { PlainText, hiddenIn } from "./PlainText.js";

/**
 * Spells out what hides in a text that is being edited, which a field does not show: places, each
 * with a few characters around it, spelled out. Nothing where nothing hides.
 */
export function HiddenText({ id, text }: { readonly id?: string; readonly text: string }) {
  const { places, more } = hiddenIn(text);
  if (places.length === 0) return null;
  return (
    <p id={id} className="sayso-hidden-text">
      Hidden in this text:{" "}
      {places.map((place, index) => (
        <code key={index} dir="auto">
          <PlainText text={place} />
        </code>
      ))}
      {more > 0 && ` and ${more} more`}
    </p>
  );
}
