/**
 * Compares web/dist with what the sources give, byte by byte, and checks the budgets of the first load. Run by `make ui-check` after the
 * build into the folder that is the argument. Compressed files are compared by their content: versions of Node compress differently.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';

const dist = resolve(import.meta.dirname, '../dist');
const built = resolve(process.argv[2] ?? '');
/** @type {string[]} */
const faults = [];

/** @param {string} path */
const contentOf = (path) => (path.endsWith('.gz') ? gunzipSync(readFileSync(path)) : readFileSync(path));

/** @param {string} folder */
const filesOf = (folder) => (existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : []);
for (const file of [...new Set([...filesOf(dist), ...filesOf(built)])].sort()) {
  const [committed, fresh] = [join(dist, file), join(built, file)];
  if (!existsSync(committed)) faults.push(`${file}: not in web/dist`);
  else if (!existsSync(fresh)) faults.push(`${file}: in web/dist, but the sources do not give it`);
  else if (!contentOf(committed).equals(contentOf(fresh))) faults.push(`${file}: differs`);
}
if (faults.length > 0) faults.push('run `make ui` and commit web/dist');

/**
 * Bytes of files as the server sends them, those that are written uncompressed after gzip.
 * @param {string[]} files
 */
const zipped = (files) =>
  files.reduce((sum, file) => {
    const packed = join(built, `${file}.gz`);
    const content = existsSync(packed) ? readFileSync(packed) : gzipSync(readFileSync(join(built, file)), { level: 9 });
    return sum + content.length;
  }, 0);

const index = readFileSync(join(built, 'index.html'), 'utf8');
const named = [...index.matchAll(/(?:src|href)="\.\/([^"]+\.(?:js|css))"/g)].map((found) => found[1] ?? '');
const all = filesOf(built)
  .map((file) => file.replace(/\.gz$/, ''))
  .filter((file) => file !== 'LICENSES.txt');
const shared = ['app', 'main', 'markdown', 'rows', 'rolldown-runtime'];
const pages = all.filter((file) => file.endsWith('.js') && !shared.includes(file.slice(0, -3)));
const kib = 1024;
/** Scripts that are loaded after a page was opened and a role proved. @type {Record<string, number>} */
const larger = { 'editor.js': 125, 'chart.js': 25 };
/** @type {[name: string, size: number, budget: number][]} */
const budgets = [
  ['scripts before the first page', zipped(named.filter((file) => file.endsWith('.js')).concat('now.js')), 130 * kib],
  ['styles before the first page', zipped(named.filter((file) => file.endsWith('.css')).concat('now.css')), 20 * kib],
  ['all styles', zipped(all.filter((file) => file.endsWith('.css'))), 34 * kib],
  ...pages.map(
    (file) => /** @type {[string, number, number]} */ ([`page ${file}`, zipped([file]), (larger[file] ?? 25) * kib]),
  ),
  // A quarter of it is the editor and the chart of SQL, which only administrators load. 4 KiB are the sentences for the prompts of the program
  // in both languages, and the summary of a comparison; another 4 are the form for what an MCP server asks, and what was moved in.
  ['all files', zipped(all), 552 * kib],
];
for (const [name, size, budget] of budgets) {
  console.log(`${name.padEnd(32)}${(size / kib).toFixed(1).padStart(8)} of ${budget / kib} KiB gzipped`);
  if (size > budget) faults.push(`${name}: ${size} bytes, more than ${budget}`);
}

if (faults.length > 0) {
  console.error(faults.join('\n'));
  process.exit(1);
}
console.log('web/dist is what web/src gives');
