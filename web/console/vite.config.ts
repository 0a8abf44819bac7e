import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";
import { budget } from "./budget.js";

// Files of tests that change modules for themselves; all others share theirs, which halves the time.
const APART = ["tests/access.test.ts", "tests/broken.test.tsx"];

// Relative asset addresses, so that the built console works under any path prefix. Everything the
// page runs or paints is a file: a policy without unsafe-inline and unsafe-eval holds.
export default defineConfig({
  base: "./",
  plugins: [react(), budget()],
  resolve: {
    conditions: ["@sayso/source", "module", "browser", "development|production"],
    alias: { "@ag-ui/proto": "/src/binaryEvents.ts" },
  },
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 700,
    modulePreload: { polyfill: false },
  },
  server: {
    // The server holds a page's origin against the Host that it sees, which Vite would change.
    proxy: Object.fromEntries(
      ["/agents", "/audit", "/demo", "/interrupts", "/threads"].map((path) => [
        path,
        { target: "http://127.0.0.1:8000", changeOrigin: false },
      ]),
    ),
  },
  test: {
    environment: "jsdom",
    setupFiles: ["tests/setup.ts"],
    restoreMocks: true,
    testTimeout: 240_000,
    hookTimeout: 240_000,
    projects: [
      {
        extends: true,
        test: {
          name: "together",
          include: ["tests/**/*.test.{ts,tsx}"],
          exclude: APART,
          isolate: false,
        },
      },
      { extends: true, test: { name: "apart", include: APART } },
    ],
  },
});
