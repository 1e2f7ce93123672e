// Checks the built site: every link and picture leads to a file of it, and every anchor to a heading.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

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
for (const line of wrong) console.error(line);
console.log(`${texts.size} pages, ${links} links, ${wrong.length} wrong`);
if (wrong.length > 0 || links === 0) process.exit(1);
