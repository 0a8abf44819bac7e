import { useEffect, useState } from "react";
import { fetchEffects, type Effect } from "../api.js";
import { effectsPath } from "../base.js";

const POLL_MS = 2000;

/**
 * The demo's effects; null on a server that is not the demo. They are asked for again whenever
 * `moment` changes, and every two seconds while something may be happening.
 */
export function useEffects(moment: unknown, busy: boolean): readonly Effect[] | null {
  const [path] = useState(() => effectsPath());
  const [effects, setEffects] = useState<readonly Effect[] | null>(path === null ? null : []);
  useEffect(() => {
    if (path === null) return undefined;
    const abort = new AbortController();
    const load = () => {
      fetchEffects(path, abort.signal).then(
        (fetched) => {
          setEffects((before) => (before?.length === fetched.length ? before : fetched));
        },
        // The server is away: the conversation says so, and the next look may succeed.
        () => undefined,
      );
    };
    load();
    const timer = busy ? setInterval(load, POLL_MS) : undefined;
    return () => {
      abort.abort();
      clearInterval(timer);
    };
  }, [moment, busy, path]);
  return effects;
}
