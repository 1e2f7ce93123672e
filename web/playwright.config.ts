import { cpus } from 'node:os';
import { defineConfig } from '@playwright/test';

/** Debian's Chromium; Playwright downloads no browser. */
const chromium = process.env.OPENCLAWD_CHROMIUM ?? '/usr/bin/chromium';

export default defineConfig({
  testDir: 'tests',
  globalSetup: './tests/stage/setup.ts',
  outputDir: '../bin/ui-test',
  fullyParallel: true,
  forbidOnly: process.env.CI !== undefined,
  // A second try tells a slow machine from a defect; the report lists such tests as flaky.
  retries: process.env.CI === undefined ? 0 : 1,
  // Tests wait a third of their time, so that more run than there are cores.
  workers: Math.min(4, cpus().length + 2),
  timeout: 60_000,
  expect: { timeout: 10_000 },
  reporter: [['list']],
  use: {
    viewport: { width: 1440, height: 900 },
    locale: 'ko-KR',
    timezoneId: 'Asia/Seoul',
    colorScheme: 'light',
    // Drawing what only moves takes a tenth of the processor's time.
    contextOptions: { reducedMotion: 'reduce' },
    actionTimeout: 10_000,
    screenshot: 'only-on-failure',
    launchOptions: {
      executablePath: chromium,
      // No name but the two of this address leads anywhere; evil.test is the name that an attacker lets point here.
      args: [
        '--no-sandbox',
        '--disable-dev-shm-usage',
        '--host-resolver-rules=MAP evil.test 127.0.0.1,MAP * ~NOTFOUND,EXCLUDE 127.0.0.1,EXCLUDE localhost,EXCLUDE ::1,EXCLUDE [::1]',
      ],
    },
  },
});
