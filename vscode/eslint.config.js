import tseslint from "typescript-eslint";

export default tseslint.config(
  // Programs around the extension are plain JavaScript, without types to check.
  { ignores: ["node_modules", "dist", "**/*.mjs", "*.config.js"] },
  ...tseslint.configs.strictTypeChecked,
  { languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } } },
  {
    rules: {
      eqeqeq: "error",
      "no-console": "error",
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      // VS Code's settings and Node's environment are read by name.
      "@typescript-eslint/dot-notation": "off",
    },
  },
);
