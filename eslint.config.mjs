// Lint of the house: scripts/ and its tests. The web workspaces bring their own.
import js from "@eslint/js";

const globals = ["URL", "console", "fetch", "performance", "process"];

export default [
  js.configs.recommended,
  {
    files: ["**/*.mjs"],
    languageOptions: { globals: Object.fromEntries(globals.map((name) => [name, "readonly"])) },
    rules: {
      complexity: ["error", 12],
      eqeqeq: "error",
      "max-lines": ["error", 700],
      "no-var": "error",
      "prefer-const": "error",
    },
  },
];
