import { expect, test } from "vitest";
import config from "../vite.config.js";

test("the page in development is no stranger to the server behind it: its Host goes through", () => {
  const { server } = config as { server: { proxy: Record<string, { changeOrigin: boolean }> } };
  const proxied = Object.values(server.proxy);
  expect(proxied.length).toBeGreaterThan(0);
  expect(proxied.every(({ changeOrigin }) => !changeOrigin)).toBe(true);
});
