import type { FullResult, Reporter, TestCase, TestResult } from '@playwright/test/reporter';
import type { Figure } from './figures.ts';

const json = process.env.OPENCLAWD_UI_BENCH === 'json';

/** Prints the figures: a table at the end, or with OPENCLAWD_UI_BENCH=json a line each as they come. A missed goal is no failure. */
export default class Figures implements Reporter {
  #figures: Figure[] = [];

  onTestEnd({ title }: TestCase, { annotations, errors, duration }: TestResult) {
    for (const { type, description } of annotations) {
      if (type !== 'figure') continue;
      this.#figures.push(JSON.parse(description!));
      if (json) console.log(description);
    }
    console.error(`bench: ${title} took ${Math.round(duration / 1000)}s`);
    for (const error of errors) console.error(`error: ${error.stack ?? error.message ?? error.value}`);
  }

  onError(error: { message?: string }) {
    console.error(`error: ${error.message}`);
  }

  onEnd(_: FullResult) {
    if (json) return;
    const short = (value: number) => String(Number(value.toPrecision(4)));
    const rows = this.#figures.map(({ name, value, unit, baseline, ratio, goal, ok }) => [
      name,
      `${short(value)} ${unit}`,
      short(baseline),
      String(Number(ratio.toPrecision(3))),
      goal,
      ok ? 'ok' : 'MISSED',
    ]);
    rows.unshift(['NAME', 'VALUE', 'BASELINE', 'RATIO', 'GOAL', '']);
    const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
    for (const row of rows)
      console.log(
        row
          .map((cell, column) => cell.padEnd(widths[column]!))
          .join('  ')
          .trimEnd(),
      );
  }
}
