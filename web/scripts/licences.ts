import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'vite';

/** Licences that allow distribution in a binary under the MIT licence. DOMPurify is used under Apache-2.0. */
const allowed = ['MIT', 'ISC', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', '(MPL-2.0 OR Apache-2.0)'];

/** Writes LICENSES.txt with the licence of each package that is in the bundle, and fails on a licence that is not allowed. */
export function licences(): Plugin {
  return {
    name: 'licences',
    apply: 'build',
    generateBundle(_, bundle) {
      const folders = new Set<string>();
      for (const file of Object.values(bundle)) {
        if (file.type !== 'chunk') continue;
        for (const id of file.moduleIds) {
          const found = /^\0?(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id.replaceAll('\\', '/'));
          if (found) folders.add(found[1]!);
        }
      }
      const texts = [...folders].map(licenceOf).sort((a, b) => (a.name < b.name ? -1 : 1));
      for (const { name, licence } of texts) {
        if (!allowed.includes(licence))
          this.error(`${name} has the licence ${licence}, which is not in the list of scripts/licences.ts`);
      }
      this.emitFile({
        type: 'asset',
        fileName: 'LICENSES.txt',
        source: texts
          .map(({ name, version, licence, text }) => `${name} ${version}\n${licence}\n\n${text}\n`)
          .join(`${'-'.repeat(80)}\n`),
      });
    },
  };
}

function licenceOf(folder: string) {
  const about = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((name) => /^licen[sc]e/i.test(name));
  const text = file && existsSync(join(folder, file)) ? readFileSync(join(folder, file), 'utf8').trim() : '';
  // Some packages name no licence in package.json and have the usual text of MIT.
  const licence: string = about.license ?? (text.startsWith('MIT License') ? 'MIT' : 'none');
  return { name: about.name as string, version: about.version as string, licence, text };
}
