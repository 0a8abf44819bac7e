/** How long an open body may bring nothing: a server says at least every 15 s that it is there. */
export const SILENCE_MS = 45_000;

/** How old the last byte may be when somebody returns to the page. */
export const STALE_MS = 20_000;

/** A body that brought nothing for too long: what the server has done since, nobody here knows. */
export class SilentBody extends Error {
  override readonly name = "SilentBody";

  constructor() {
    super("The connection fell silent.");
  }
}

/** The open bodies of one client, and when each was last heard. */
export class Bodies {
  readonly #open = new Set<Body>();

  /**
   * The response, with a body that is read as before, fails once it has been silent for too long,
   * and is given up quietly: the client library cancels the reader of every body, also of one whose
   * connection broke, and what that rejects with reaches nobody (ER-12). `hear` is told each piece.
   */
  watch(response: Response, hear?: (piece: Uint8Array) => void): Response {
    const { body } = response;
    if (body === null) return response;
    const getReader = () => this.#read(body.getReader(), hear);
    Object.defineProperty(response, "body", { value: { getReader } });
    return response;
  }

  /** Breaks off what has been silent for so long (ms). */
  breakOff(silentMs: number): void {
    const now = Date.now();
    for (const body of [...this.#open]) {
      if (now - body.heardAt >= silentMs) body.breakOff();
    }
  }

  #read(
    reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>,
    hear: ((piece: Uint8Array) => void) | undefined,
  ) {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let fail: (error: SilentBody) => void = () => undefined;
    const silent = new Promise<never>((_, reject) => {
      fail = reject;
    });
    // It is raced against below; alone, nobody would hear it.
    silent.catch(() => undefined);
    const over = () => {
      clearTimeout(timer);
      this.#open.delete(item);
    };
    const cancel = (reason?: unknown) => {
      over();
      return reader.cancel(reason).catch(() => undefined);
    };
    const item: Body = {
      heardAt: Date.now(),
      breakOff: () => {
        fail(new SilentBody());
        void cancel();
      },
    };
    const heard = () => {
      item.heardAt = Date.now();
      clearTimeout(timer);
      timer = setTimeout(item.breakOff, SILENCE_MS);
    };
    const read = async () => {
      try {
        const chunk = await Promise.race([silent, reader.read()]);
        if (chunk.done) over();
        else {
          heard();
          hear?.(chunk.value);
        }
        return chunk;
      } catch (error) {
        over();
        throw error;
      }
    };
    this.#open.add(item);
    heard();
    return { read, cancel };
  }
}

interface Body {
  heardAt: number;
  readonly breakOff: () => void;
}
