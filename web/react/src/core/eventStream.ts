import { parseJson } from "./json.js";

/** Takes the pieces of a server-sent event stream and gives the data of each whole frame. */
export class FrameReader {
  readonly #decoder = new TextDecoder();
  #unread = "";

  /** The data of the frames that end in this piece; a comment has none and is passed over. */
  read(piece: Uint8Array): readonly string[] {
    this.#unread += this.#decoder.decode(piece, { stream: true });
    const frames = this.#unread.split("\n\n");
    this.#unread = frames.pop() ?? "";
    return frames.map(dataOf).filter((data) => data !== "");
  }
}

/**
 * The JSON of each frame of a server-sent event stream, until its body ends. Comments and frames
 * that are not JSON are passed over. Rejects when the connection breaks.
 */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator {
  const reader = body.getReader();
  const frames = new FrameReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      for (const data of frames.read(value)) {
        const event = parseJson(data);
        if (event !== undefined) yield event;
      }
    }
  } finally {
    // Giving up a body that broke rejects, too; nobody is left to hear it (ER-12).
    await reader.cancel().catch(() => undefined);
  }
}

function dataOf(frame: string): string {
  return frame
    .split("\n")
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice(5).trimStart())
    .join("\n");
}
