// Checks the built site: every link and picture leads to a file of it, and every anchor to a heading; the search and llms.txt know every page.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const site = resolve(process.argv[2]);
const base = process.env.SITE_BASE ?? "/";
const pages = readdirSync(site, { recursive: true }).filter((name) => name.endsWith(".html"));
const texts = new Map(pages.map((name) => [join(site, name), readFileSync(join(site, name), "utf8")]));
const anchors = new Map([...texts].map(([path, text]) => [path, new Set([...text.matchAll(/ id="([^"]+)"/g)].map((m) => m[1]))]));
let links = 0;
const wrong = [];
for (const [page, text] of texts) {
  if (page.endsWith("404.html")) continue;
  for (const [, address] of text.matchAll(/ (?:href|src)="([^"]+)"/g)) {
    if (/^[a-z]+:/.test(address)) continue;
    links++;
    const [path, anchor] = decodeURI(address.replaceAll("&amp;", "&")).split("#");
    let target = path === "" ? page : path.startsWith(base) ? join(site, path.slice(base.length)) : resolve(dirname(page), path);
    if (path.endsWith("/") || path === base) target = join(target, "index.html");
    if (!existsSync(target)) wrong.push(`${page.slice(site.length + 1)}: ${address} leads nowhere`);
    else if (anchor && !anchors.get(target)?.has(anchor)) wrong.push(`${page.slice(site.length + 1)}: ${address} has no such heading`);
  }
}

const index = readdirSync(join(site, "assets/chunks")).find((name) => name.startsWith("@localSearchIndex"));
const searched = Object.values(JSON.parse((await import(pathToFileURL(join(site, "assets/chunks", index)).href)).default).documentIds);
const listed = [...readFileSync(join(site, "llms.txt"), "utf8").matchAll(/^- \[.+?\]\((.+?)\)/gm)].map((m) => m[1]);
for (const page of pages.filter((name) => name !== "404.html")) {
  if (!texts.get(join(site, page)).includes("<h1 ")) wrong.push(`${page}: has no heading, as when it cannot be rendered`);
  const address = base + page.replace(/(^|\/)index\.html$/, "$1");
  if (!searched.some((id) => id.split("#")[0] === address)) wrong.push(`${page}: the search does not know it`);
  if (!listed.includes(page)) wrong.push(`${page}: llms.txt does not name it`);
}
for (const page of listed) if (!pages.includes(page)) wrong.push(`llms.txt: ${page} leads nowhere`);

for (const line of wrong) console.error(line);
console.log(`${texts.size} pages, ${links} links, ${searched.length} sections to search, ${wrong.length} wrong`);
if (wrong.length > 0 || links === 0) process.exit(1);
