import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

// Everything runs under React 19, and what hooks into React under React 18 as well: its names lead
// to the pair in `web/react-18` there, in our code and in the testing library.
export default defineConfig({
  resolve: { conditions: ["@sayso/source", "module", "browser", "development|production"] },
  test: {
    environment: "jsdom",
    setupFiles: ["tests/setup.ts"],
    restoreMocks: true,
    testTimeout: 240_000,
    hookTimeout: 240_000,
    isolate: false, // each file loading React anew would take three times as long
    projects: [
      {
        extends: true,
        test: {
          name: "react-19",
          include: ["tests/**/*.test.{ts,tsx}"],
          provide: { reactMajor: "19" },
        },
      },
      {
        extends: true,
        resolve: {
          alias: [
            {
              find: /^@testing-library\/react$/,
              replacement: at(
                "../../node_modules/@testing-library/react/dist/@testing-library/react.esm.js",
              ),
            },
            { find: /^(react(-dom)?)$/, replacement: at("../react-18/node_modules/$1/index.js") },
            {
              find: /^(react(?:-dom)?\/.+)$/,
              replacement: at("../react-18/node_modules/$1.js"),
            },
          ],
        },
        test: {
          name: "react-18",
          include: ["tests/react/**/*.test.tsx"],
          provide: { reactMajor: "18" },
          server: { deps: { inline: [/@testing-library\/react/] } },
        },
      },
    ],
  },
});
