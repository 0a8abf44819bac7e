import * as client from "@ag-ui/client";
import { expect, it } from "vitest";
import * as stub from "../src/binaryEvents.js";

it("knows the binary form of events by the name that the protocol gives it", async () => {
  const { AGUI_MEDIA_TYPE } = await import("../../../node_modules/@ag-ui/proto/dist/index.mjs");
  expect(stub.AGUI_MEDIA_TYPE).toBe(AGUI_MEDIA_TYPE);
  expect(stub.decode).toThrow("does not read");
  expect(client.HttpAgent).toBeDefined();
});
