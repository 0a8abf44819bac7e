import { parseJson } from "./json.js";

/**
 * The JSON of each frame of a server-sent event stream, until its body ends. Comments and frames
 * that are not JSON are passed over. Rejects when the connection breaks.
 */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  onBytes: () => void = () => undefined,
): AsyncGenerator {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let unread = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onBytes();
      unread += decoder.decode(value, { stream: true });
      const frames = unread.split("\n\n");
      unread = frames.pop() ?? "";
      for (const frame of frames) {
        const event = parseFrame(frame);
        if (event !== undefined) yield event;
      }
    }
  } finally {
    // Giving up a body that broke rejects, too; nobody is left to hear it (ER-12).
    await reader.cancel().catch(() => undefined);
  }
}

function parseFrame(frame: string): unknown {
  const data = frame
    .split("\n")
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice(5).trimStart());
  return data.length === 0 ? undefined : parseJson(data.join("\n"));
}
