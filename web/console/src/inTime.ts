/**
 * Does something that takes a signal, which ends it after so long (ms; null: never), or when `signal`
 * ends.
 */
export async function inTime<T>(
  milliseconds: number | null,
  act: (signal: AbortSignal) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const over = new AbortController();
  const stop = () => {
    over.abort();
  };
  const timer = milliseconds === null ? undefined : setTimeout(stop, milliseconds);
  signal?.addEventListener("abort", stop);
  if (signal?.aborted === true) stop();
  try {
    return await act(over.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  }
}
