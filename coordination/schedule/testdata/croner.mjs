// Writes what croner answers for random expressions: node croner.mjs <directory with croner> <count> <seed>.
// A line is {"expr", "zone", "from", "next": [times]}; "next" is null if croner refuses the expression.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [dir, count, seed] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const { Cron } = await import(pathToFileURL(createRequire(dir + "/").resolve("croner")));

let state = seed >>> 0;
function random(n) {
  state = (state + 0x6d2b79f5) >>> 0;
  let t = state;
  t = Math.imul(t ^ (t >>> 15), t | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return ((t ^ (t >>> 14)) >>> 0) % n;
}
const pick = (...list) => list[random(list.length)];
const between = (a, b) => a + random(b - a + 1);

function item(min, max, names) {
  const value = () => {
    const n = between(min, max);
    return names && random(3) === 0 ? names[n] : String(n);
  };
  const steps = max - Math.min(min, 1) + 1;
  switch (random(8)) {
    case 0: return "*/" + between(1, Math.min(steps, 30));
    case 1: case 2: {
      const a = between(min, max), b = between(a, max);
      return a + "-" + b + (random(2) ? "/" + between(1, 12) : "");
    }
    default: return value();
  }
}
function field(min, max, star, names) {
  if (random(100) < star) return pick("*", "*", "?");
  return Array.from({ length: pick(1, 1, 1, 2, 3) }, () => item(min, max, names)).join(",");
}
const months = [, "JAN", "feb", "Mar", "APR", "may", "JUN", "jul", "AUG", "sep", "OCT", "nov", "DEC"];
const weekdays = ["SUN", "mon", "TUE", "wed", "THU", "fri", "SAT"];
function dayOfMonth() {
  if (random(10) === 0) return pick("L", "LW", "1,L", between(1, 31) + "W");
  return field(1, 31, 55);
}
function dayOfWeek() {
  const day = () => pick(...weekdays, 0, 1, 2, 3, 4, 5, 6, 7);
  if (random(8) === 0) return pick("", "", "+") + day() + pick("L", "#1", "#2", "#3", "#4", "#5", "#L");
  return (random(10) === 0 ? "+" : "") + field(0, 6, 55, weekdays);
}
function expression() {
  if (random(100) === 0) return pick("@daily", "@hourly", "@weekly", "@monthly", "@yearly", "@midnight");
  const parts = [field(0, 59, 15), random(3) ? field(0, 4, 25) : field(0, 23, 25), dayOfMonth(), field(1, 12, 75, months), dayOfWeek()];
  if (random(6) === 0) parts.unshift(field(0, 59, 20));
  if (random(40) === 0 && parts.length === 6) parts.push(pick("2027", "2026-2030", "*/4", "2031,2033"));
  if (random(60) === 0) parts[random(parts.length)] = pick("99", "5/15", "x", "7-3", "*/0", "1,,2", "-1", "1.5", "1#6", "");
  return parts.join(" ");
}
// Hour changes of 2024 to 2032 come from the zones themselves.
const zones = ["America/New_York", "Europe/Berlin", "Australia/Lord_Howe"];
function offset(zone, at) {
  const text = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" }).formatToParts(at).find((p) => p.type === "timeZoneName").value;
  const m = text.match(/GMT([+-])(\d\d):(\d\d)/);
  return m ? (m[1] === "-" ? -1 : 1) * (Number(m[2]) * 60 + Number(m[3])) : 0;
}
const changes = Object.fromEntries(zones.map((zone) => {
  const found = [];
  const day = 24 * 3600e3;
  for (let at = Date.UTC(2024, 0, 1); at < Date.UTC(2032, 0, 1); at += day) {
    if (offset(zone, at) === offset(zone, at + day)) continue;
    let from = at, to = at + day;
    while (to - from > 1000) {
      const half = from + Math.floor((to - from) / 2000) * 1000;
      if (offset(zone, half) === offset(zone, at)) from = half;
      else to = half;
    }
    found.push(to);
  }
  return [zone, found];
}));

for (let n = 0; n < count; n++) {
  const expr = expression(), zone = pick(...zones);
  let from = pick(...changes[zone]) - between(0, 3 * 24 * 3600) * 1000 * pick(0, 1, 1) + between(-3 * 3600, 3 * 3600) * 1000;
  if (random(3) === 0) from = Math.round(from / 60e3) * 60e3;
  let next = null;
  try {
    const cron = new Cron(expr, { timezone: zone, paused: true });
    next = [];
    for (let at = new Date(from); next.length < 4; ) {
      at = cron.nextRun(at);
      if (!at) break;
      next.push(at.getTime());
    }
  } catch {
    next = null;
  }
  console.log(JSON.stringify({ expr, zone, from, next }));
}
