import { defineConfig } from "vitest/config";

// Tests that drive Chromium share two cores with whatever else runs; they end when what they wait for is there.
export default defineConfig({
  test: { testTimeout: 120_000, hookTimeout: 120_000, expect: { poll: { timeout: 30_000, interval: 20 } } },
});
