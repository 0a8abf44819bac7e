import { base } from "../eslint.base.mjs";

export default [
  ...base(import.meta.dirname),
  {
    files: ["tests/**"],
    rules: {
      "@typescript-eslint/no-non-null-assertion": "off",
      "@typescript-eslint/require-await": "off",
    },
  },
];
