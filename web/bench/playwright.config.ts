import { defineConfig } from '@playwright/test';
import tests from '../playwright.config.ts';

/** `make ui-bench`: one measurement at a time. Speed is measured here and not in the tests, which must pass on slow machines too. */
export default defineConfig({
  ...tests,
  testDir: '.',
  testMatch: '*.bench.ts',
  globalSetup: undefined,
  outputDir: '../../bin/ui-bench',
  fullyParallel: false,
  workers: 1,
  timeout: 30 * 60_000,
  reporter: [['./reporter.ts']],
  use: { ...tests.use, actionTimeout: 60_000, screenshot: 'off' },
});
