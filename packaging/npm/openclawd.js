#!/usr/bin/env node
"use strict";
// Runs the program of this platform's package.
const { spawn } = require("node:child_process");

const name = `@openclawd/${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/openclawd${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  console.error(`error: the package ${name} is not installed`);
  console.error("hint: install without --omit=optional; on another platform build it from source: https://github.com/pronto-lab/openclawd");
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends Ctrl-C to the program too; a second one would end it at once.
process.on("SIGINT", () => process.stdin.isTTY || child.kill("SIGINT"));
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (err) => {
  console.error(`error: run ${program}: ${err.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (!signal) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
