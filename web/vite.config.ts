import { fileURLToPath } from 'node:url';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';
import { compressed } from './scripts/compressed.ts';
import { inlineStyles } from './scripts/inlineStyles.ts';
import { licences } from './scripts/licences.ts';
import { queries } from './scripts/queries.ts';
import { sources } from './scripts/sources.ts';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

// Address of a running `openclawd serve`, for `make ui-dev`.
const server = process.env.OPENCLAWD_UI_SERVER ?? 'http://127.0.0.1:3847';

/**
 * Files of the build, by what they contain. Their names are fixed, so that a change of one page changes the files of that page only. A group
 * takes what its modules import as well, so the frame comes first and the pages last.
 */
const groups = [
  {
    name: 'app',
    test: /\/src\/(app|lib)\/(?!md\/|views\/|ui\/Rows|decide\/(?:Fields|input)|chat\/(?!Tell|inView))|\/node_modules\/(?!marked\/|dompurify\/|virtua\/|uplot\/|@codemirror\/|@lezer\/|@marijn\/|style-mod\/|w3c-keyname\/|crelt\/)|^\0/,
    priority: 3,
  },
  { name: 'markdown', test: /\/node_modules\/(marked|dompurify)\/|\/src\/lib\/md\//, priority: 2 },
  { name: 'views', test: /\/src\/lib\/views\//, priority: 2 },
  { name: 'fields', test: /\/src\/lib\/decide\/(Fields|input)/, priority: 2 },
  { name: 'composer', test: /\/src\/lib\/chat\//, priority: 2 },
  { name: 'sql', test: /\/src\/pages\/sql\/[^/]+$/, priority: 3 },
  // What only the SQL page needs, and only after the role was proved.
  {
    name: 'editor',
    test: /\/node_modules\/(@codemirror|@lezer|@marijn|style-mod|w3c-keyname|crelt)\/|\/src\/pages\/sql\/editor\//,
    priority: 2,
  },
  { name: 'chart', test: /\/node_modules\/uplot\/|\/src\/pages\/sql\/chart\//, priority: 2 },
  { name: 'rows', test: /\/node_modules\/virtua\/|\/src\/lib\/ui\/Rows/, priority: 2 },
  {
    name: (id: string) => /\/src\/pages\/([a-z]+)\/(?!details\/|matrix\/)/.exec(id.replaceAll('\\', '/'))?.[1] ?? null,
    debugName: 'pages',
    priority: 1,
  },
  { name: 'details', test: /\/src\/pages\/conversations\/details\//, priority: 0 },
  { name: 'matrix', test: /\/src\/pages\/agents\/matrix\//, priority: 0 },
];

export default defineConfig(({ command, mode }) => ({
  // The server answers every path below ui/ that is no file with index.html and a relative <base>, so files are named relatively.
  base: command === 'serve' && mode !== 'test' ? '/ui/' : './',
  plugins: [inlineStyles(), queries(), svelte(), licences(), sources(), compressed()],
  resolve: {
    alias: { $lib: here('src/lib'), $app: here('src/app') },
    conditions: mode === 'test' ? ['browser'] : undefined,
  },
  // No configuration of PostCSS is looked for: styles are plain CSS.
  css: { postcss: {} },
  build: {
    target: 'es2022',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    sourcemap: false,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 2000,
    rolldownOptions: {
      output: {
        entryFileNames: 'main.js',
        chunkFileNames: '[name].js',
        assetFileNames: '[name].[ext]',
        codeSplitting: { groups },
      },
    },
  },
  server: {
    port: 5173,
    proxy: {
      '^/ui/(api|session|store|readyz|healthz)(/|\\?|$)': { target: server, changeOrigin: true },
      '^/ui/(ws|gateway)': { target: server, ws: true, changeOrigin: true, rewriteWsOrigin: true },
    },
  },
  test: {
    include: ['src/**/*.test.ts', 'scripts/**/*.test.ts'],
  },
}));
