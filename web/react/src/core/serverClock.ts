/**
 * The server's time on this machine, whose own clock may be wrong: what expires is judged by the
 * server's. Until the server has said what time it is, this machine's clock is all there is.
 */
export class ServerClock {
  #aheadMs = 0;

  /** The server's time in epoch milliseconds. */
  readonly now = (): number => Date.now() + this.#aheadMs;

  /**
   * Takes over a time that the server has just said, good to `withinMs`. On the way it has become
   * older, never newer: nothing counts as over here that is not over there.
   */
  heard(time: number, withinMs = 0): void {
    if (Number.isNaN(time)) return;
    const off = this.now() - time;
    if (off < 0 || off > withinMs) this.#aheadMs -= off;
  }
}
