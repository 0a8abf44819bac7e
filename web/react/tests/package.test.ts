import { describe, expect, it } from "vitest";
import manifest from "../package.json" with { type: "json" };

describe("what the package asks of its host", () => {
  it("[CL-19] is a client of protocol 1.0, and React 18 or newer", () => {
    expect(manifest.peerDependencies).toEqual({
      "@ag-ui/client": ">=1.0.0",
      react: ">=18.2.0",
      "react-dom": ">=18.2.0",
    });
  });
});
