/**
 * `make ui-break`: puts each of the old defects in breaks.js back, builds the page with it, and runs the test that must
 * notice. Fails if one stays green, or turns red for another reason. First all these tests must pass over a page that was built in the same way without a defect. Arguments are names of
 * defects; without any, it is all of them.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { build } from 'vite';
import { breaks } from './breaks.js';

const web = resolve(import.meta.dirname, '../..');

/**
 * Builds the page with texts replaced.
 * @param {string} outDir
 * @param {import('./breaks.js').Break['edits']} edits
 */
async function buildWith(outDir, edits) {
  /** @type {Set<number>} */
  const left = new Set(edits.keys());
  await build({
    root: web,
    configFile: join(web, 'vite.config.ts'),
    logLevel: 'error',
    build: { outDir, emptyOutDir: true },
    plugins: [
      {
        name: 'break',
        enforce: 'pre',
        load(id) {
          const own = [...edits.entries()].filter(([, [file]]) => id === join(web, 'src', file));
          if (own.length === 0) return null;
          let text = readFileSync(id, 'utf8');
          for (const [index, [file, now, then]] of own) {
            if (text.split(now).length !== 2) this.error(`src/${file} does not have this text exactly once: ${now}`);
            text = text.replace(now, () => then);
            left.delete(index);
          }
          return text;
        },
      },
    ],
  });
  for (const index of left) throw new Error(`src/${edits[index]?.[0]} is not part of the page`);
}

/**
 * Runs tests over the page of a folder, and returns what went wrong by title.
 * @param {string} page
 * @param {string} grep
 */
function runTests(page, grep) {
  const result = join(page, '..', 'result.json');
  rmSync(result, { force: true });
  const { status, stderr } = spawnSync(
    process.execPath,
    [join(web, 'node_modules/@playwright/test/cli.js'), 'test', '--reporter', 'json', '--grep', grep],
    {
      cwd: web,
      encoding: 'utf8',
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, UI_DIST: page, PLAYWRIGHT_JSON_OUTPUT_NAME: result },
    },
  );
  /** @type {import('@playwright/test/reporter').JSONReport} */
  const report = JSON.parse(readFileSync(result, 'utf8'));
  if (report.errors.length > 0) throw new Error(report.errors.map(({ message }) => message).join('\n') + stderr);
  /** @type {{ title: string, errors: string[] }[]} */
  const tests = [];
  /** @param {import('@playwright/test/reporter').JSONReportSuite} suite */
  const collect = (suite) => {
    for (const { title, tests: runs } of suite.specs) {
      const errors = runs.flatMap(({ results }) => results.flatMap(({ errors }) => errors));
      tests.push({ title, errors: errors.map(({ message }) => (message ?? '').replace(/\x1b\[\d+m/g, '')) });
    }
    suite.suites?.forEach(collect);
  };
  report.suites.forEach(collect);
  if (tests.length === 0) throw new Error(`no test has a title like ${grep}`);
  const failed = tests.filter(({ errors }) => errors.length > 0);
  if (status !== 0 && failed.length === 0) throw new Error(stderr);
  return failed;
}

const names = process.argv.slice(2);
for (const name of names) {
  if (!breaks.some((one) => one.name === name)) {
    console.error(`error: no defect is called ${name}; choose from: ${breaks.map(({ name }) => name).join(', ')}`);
    process.exit(2);
  }
}
const chosen = breaks.filter(({ name }) => names.length === 0 || names.includes(name));
const folder = mkdtempSync(join(tmpdir(), 'openclawd-ui-break-'));
let green = 0;
try {
  const page = join(folder, 'dist');
  await buildWith(page, []);
  const failed = runTests(page, [...new Set(chosen.map(({ test }) => test))].join('|'));
  if (failed.length > 0) {
    for (const { title, errors } of failed) console.error(`${title}\n${errors.join('\n')}`);
    throw new Error('tests fail without any defect');
  }
  for (const { name, defect, edits, test, because } of chosen) {
    await buildWith(page, edits);
    const [red] = runTests(page, test);
    const right = red?.errors.some((error) => because.test(error)) ?? false;
    if (!right) green++;
    const verdict = !red ? 'STAYS GREEN' : right ? 'red' : 'red for another reason';
    console.log(`${name.padEnd(10)}${verdict}: ${red?.title ?? test} (${defect})`);
    if (red && !right) console.log(red.errors.join('\n'));
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (green > 0) {
  console.error(`error: ${green} of ${chosen.length} defects are not noticed`);
  process.exit(1);
}
