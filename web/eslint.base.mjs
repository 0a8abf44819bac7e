import js from "@eslint/js";
import jsxA11y from "eslint-plugin-jsx-a11y";
import reactHooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

// The rules both workspaces share; each adds what is its own.
export const base = (root) =>
  tseslint.config(
    { ignores: ["dist/**", "coverage/**"] },
    js.configs.recommended,
    {
      files: ["**/*.ts", "**/*.tsx"],
      extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
      languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: root } },
      rules: {
        "@typescript-eslint/consistent-type-imports": "error",
        "@typescript-eslint/consistent-type-definitions": ["error", "interface"],
        "@typescript-eslint/switch-exhaustiveness-check": "error",
        "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
        "no-console": "error",
        eqeqeq: "error",
      },
    },
    {
      files: ["**/*.tsx"],
      extends: [jsxA11y.flatConfigs.strict, reactHooks.configs.flat.recommended],
      rules: { "react-hooks/exhaustive-deps": "error" },
    },
    {
      files: ["**/*.mjs"],
      languageOptions: { globals: { console: "readonly", process: "readonly", URL: "readonly" } },
    },
  );

// Forbids imports by pattern in the files given: `core` never sees React, components never the app.
export const noImports = (files, patterns, message) => ({
  files,
  rules: {
    "@typescript-eslint/no-restricted-imports": [
      "error",
      { patterns: [{ group: patterns, message }] },
    ],
  },
});
