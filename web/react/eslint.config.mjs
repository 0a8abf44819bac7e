import { base, noImports } from "../eslint.base.mjs";

export default [
  ...base(import.meta.dirname),
  noImports(
    ["src/core/**"],
    ["react", "react-dom", "react/*", "../react/*", "../components/*"],
    "core is framework-free: it imports neither React nor the layers above it.",
  ),
  noImports(["src/react/**"], ["../components/*"], "hooks do not import components."),
  {
    files: ["tests/**"],
    rules: {
      "@typescript-eslint/no-non-null-assertion": "off",
      "@typescript-eslint/require-await": "off",
    },
  },
];
