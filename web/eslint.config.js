import tseslint from "typescript-eslint";

/** The page's layers: views know models, models know the gateway, and never the other way. */
const layer = (files, forbidden, reason) => ({
  files,
  rules: { "no-restricted-imports": ["error", { patterns: [{ group: forbidden, message: reason }] }] },
});

export default tseslint.config(
  // Programs around the page are plain JavaScript, without types to check.
  { ignores: ["src/generated", "node_modules", "**/*.mjs", "*.config.js"] },
  ...tseslint.configs.strictTypeChecked,
  { languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } } },
  {
    rules: {
      eqeqeq: "error",
      "no-console": "error",
      "@typescript-eslint/switch-exhaustiveness-check": [
        "error",
        { considerDefaultExhaustiveForUnions: true },
      ],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
    },
  },
  {
    files: ["test/*.chromium.test.ts"],
    rules: {
      "no-restricted-syntax": [
        "error",
        {
          selector: "CallExpression[callee.name='expect'] AwaitExpression",
          message: "The page may not have handled the last key or click yet: use expect.poll.",
        },
      ],
    },
  },
  layer(
    ["src/gateway/**"],
    ["**/model/**", "**/view/**", "**/markdown/**"],
    "the gateway knows only the contract",
  ),
  layer(["src/model/**"], ["**/view/**", "**/markdown/**"], "a model knows nothing of how it is shown"),
  layer(["src/markdown/**"], ["**/view/**", "**/model/**", "**/gateway/**"], "Markdown knows only text"),
);
