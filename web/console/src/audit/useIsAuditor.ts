import { useEffect, useState } from "react";
import { fetchIsAuditor } from "./trail.js";

/** True once the server has said that the caller is an auditor; what fails says nothing. */
export function useIsAuditor(): boolean {
  const [auditor, setAuditor] = useState(false);
  useEffect(() => {
    const abort = new AbortController();
    void fetchIsAuditor(abort.signal).then(setAuditor, () => undefined);
    return () => {
      abort.abort();
    };
  }, []);
  return auditor;
}
