// Opens a page of a Control UI in Chromium, and prints what it says once that matches all patterns, or after a minute.
// Arguments: the page's address, the gateway's token, the patterns.
import { createRequire } from 'node:module';

const [address, token, ...patterns] = process.argv.slice(2);
const { chromium } = createRequire(`${process.env.MODULES}/`)('playwright-core');
const browser = await chromium.launch({
  executablePath: process.env.OPENCLAWD_CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-dev-shm-usage', '--host-resolver-rules=MAP * ~NOTFOUND,EXCLUDE 127.0.0.1'],
});
try {
  const page = await browser.newPage({ locale: 'en-US', viewport: { width: 1440, height: 1200 } });
  await page.goto(`${address}#token=${token}`);
  const matchesAll = (all) => all.every((pattern) => new RegExp(pattern, 'm').test(document.body.innerText));
  await page.waitForFunction(matchesAll, patterns, { timeout: 60_000 }).catch(() => {});
  console.log(await page.evaluate(() => document.body.innerText));
} finally {
  await browser.close();
}
