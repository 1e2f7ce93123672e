// The documentation as a site: the Markdown files of docs, and of the root those that docs lead to. `make site` builds it.
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const installed = (name) => fileURLToPath(import.meta.resolve(name));
const root = resolve(dirname(fileURLToPath(import.meta.url)), "../../..");
const directories = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory()).map((entry) => entry.name);
const repository = "https://github.com/pronto-lab/openclawd";
/** Pages of the root, and their names on the site. */
const ofRoot = { "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security-policy.md" };

/** isPage reports whether a file of the repository is a page of the site. */
const isPage = (file) => file.endsWith(".md") && (file in ofRoot || (file.startsWith("docs/") && !file.startsWith("docs/site/")));

/** addressOf is where a page is on the site. */
const addressOf = (file) => ofRoot[file] ?? file.replace(/^docs\//, "").replace(/(^|\/)README\.md$/, "$1index.md");

const group = (text, ...items) => ({ text, items: items.map(([text, link]) => ({ text, link })) });

const sidebar = [
  group("Start", ["In a minute", "/start"], ["Beside OpenClaw", "/beside-openclaw"], ["From OpenClaw", "/from-openclaw"], ["Discord, Slack, Telegram", "/channels"], ["Task-Hub, the page", "/ui"]),
  group("Reference", ["Commands and API", "/commands"], ["API reference", "/api-reference"], ["Gateway methods", "/gateway-methods"], ["Compatibility", "/compat"],
    ["Events", "/events"], ["SQL cookbook", "/sql-cookbook"], ["SQL views", "/schema"], ["Glossary", "/glossary"]),
  group("Operations", ["All tasks", "/operations/"], ["Install", "/operations/install"], ["Configure", "/operations/configure"], ["Back up", "/operations/backup"],
    ["Litestream", "/litestream"], ["Several nodes", "/cluster"], ["Upgrade", "/operations/upgrade"], ["Monitor", "/operations/monitor"], ["Troubleshoot", "/operations/troubleshoot"],
    ["Limits", "/operations/limits"]),
  group("Agents", ["Agents and models", "/operations/agents"], ["Messages between agents", "/operations/flows"], ["Tasks", "/operations/tasks"],
    ["Schedules", "/operations/schedules"], ["MCP servers", "/operations/mcp"], ["Files and commands", "/operations/sandbox"], ["Time travel", "/operations/replay"]),
  group("Trust", ["Security", "/security"], ["Reporting a vulnerability", "/security-policy"], ["Security in operation", "/operations/security"], ["Promises", "/promises"], ["Performance", "/performance"],
    ["Decisions", "/adr/"], ["Changelog", "/changelog"], ["Contributing", "/contributing"]),
];

/** leadOutside makes links to files that are no pages lead into the repository. */
function leadOutside(md) {
  md.core.ruler.push("lead_outside", (state) => {
    const page = relative(root, state.env.realPath ?? state.env.path);
    const visit = (tokens) => {
      for (const token of tokens) {
        if (token.children) visit(token.children);
        const href = token.type === "link_open" ? token.attrGet("href") : null;
        if (!href || /^([a-z]+:|#|\/)/.test(href)) continue;
        const [path, anchor] = href.split("#");
        const file = relative(root, resolve(root, dirname(page), decodeURI(path)));
        if (isPage(file)) {
          const to = relative(dirname(addressOf(page)), addressOf(file)).replace(/(^|\/)index\.md$/, "$1./index.md");
          token.attrSet("href", (to.startsWith(".") ? to : `./${to}`) + (anchor ? `#${anchor}` : ""));
        } else if (existsSync(join(root, file))) {
          token.attrSet("href", `${repository}/blob/main/${file}${anchor ? `#${anchor}` : ""}`);
          token.attrSet("target", "_blank");
        } // else the check of dead links reports it
      }
    };
    visit(state.tokens);
  });
}

/** leaveBraces shows {{braces}} of the documents as they are: the pages are templates of Vue. */
function leaveBraces(md) {
  for (const rule of ["text", "code_inline", "code_block"]) {
    const render = md.renderer.rules[rule];
    md.renderer.rules[rule] = (...args) => render(...args).replaceAll("{{", "&#123;&#123;");
  }
}

/** github gives headings the anchors that GitHub gives them. */
const github = (text) =>
  [...text.trim().toLowerCase()].map((c) => (c === " " ? "-" : /[\p{L}\p{N}_-]/u.test(c) ? c : "")).join("");

/** firstSentence is what llms.txt says of a page: of its first paragraph, which is no heading, table, list, block of code or picture. */
function firstSentence(text) {
  const paragraphs = text.replace(/^```.*?^```$/gms, "").split(/\n\s*\n/);
  const paragraph = paragraphs.find((p) => !/^\s*$|^(#|\||<|    |[*-] |\d+\. )/.test(p)) ?? "";
  const plain = paragraph.replace(/\s+/g, " ").replace(/\[([^\]]+)\]\([^)]+\)/g, "$1").replace(/[*]/g, "");
  return /^.*?[.:](?= |$)/.exec(plain)?.[0].replace(/:$/, ".") ?? plain;
}

/** writeForModels writes llms.txt, an index of all pages, and llms-full.txt, their text, see llmstxt.org. */
function writeForModels({ outDir, pages }) {
  const named = new Map(sidebar.flatMap((g) => g.items.map((i) => [i.link.replace(/^\//, "").replace(/(^|\/)$/, "$1index") + ".md", g.text])));
  const entries = pages.map((file) => {
    const text = readFileSync(join(root, file), "utf8");
    const address = addressOf(file).replace(/\.md$/, ".html");
    return { file, text, group: named.get(addressOf(file)) ?? "Optional", line: `- [${/^# (.+)$/m.exec(text)?.[1] ?? file}](${address})${firstSentence(text).replace(/^(?=.)/, ": ")}` };
  });
  const groups = [...sidebar.map((g) => g.text), "Optional"].map((name) => `## ${name}\n\n${entries.filter((e) => e.group === name).map((e) => e.line).join("\n")}\n`);
  writeFileSync(join(outDir, "llms.txt"), `# openclawd\n\n> Coordination backend for teams of LLM agents: one program, one SQLite file.\n\n${groups.join("\n")}`);
  writeFileSync(join(outDir, "llms-full.txt"), entries.map((e) => `<!-- ${e.file} -->\n\n${e.text}`).join("\n\n"));
}

export default {
  title: "openclawd",
  description: "Coordination backend for teams of LLM agents: one program, one SQLite file",
  lang: "en",
  srcDir: "../..",
  outDir: "../../bin/site",
  cacheDir: "../../bin/site-cache",
  // Everything but the pages: the glob knows no exceptions.
  srcExclude: ["README.md", "docs/site/**", ".*/**", ...directories.filter((name) => name !== "docs").map((name) => `${name}/**`)],
  rewrites: (page) => addressOf(page),
  base: process.env.SITE_BASE ?? "/",
  metaChunk: true,
  lastUpdated: false,
  markdown: {
    attrs: { disable: true }, // braces in headings are parts of paths
    html: false, // what looks like HTML in the documents is text
    anchor: { slugify: github },
    headers: { slugify: github },
    toc: { slugify: github },
    config: (md) => {
      leadOutside(md);
      leaveBraces(md);
    },
    languageAlias: { json5: "jsonc" },
  },
  // The pages are above node_modules, where its packages would not be found.
  vite: {
    resolve: { alias: [{ find: /^vue$/, replacement: installed("vue") }, { find: /^vue\/server-renderer$/, replacement: installed("vue/server-renderer") }] },
    build: { chunkSizeWarningLimit: 4096 },
  },
  buildEnd: ({ outDir, pages }) => writeForModels({ outDir, pages }),
  themeConfig: {
    sidebar,
    outline: [2, 3],
    search: { provider: "local" },
    socialLinks: [{ icon: "github", link: repository }],
  },
};
