import { createReadStream } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';

/** Lines of a file, which is not held in memory as a whole. */
export const linesOf = (file: string): AsyncIterable<string> =>
  createInterface({ input: createReadStream(file), crlfDelay: Infinity });

/**
 * Appends lines to a log at a steady rate a second, as another gateway does, with the time at which each happens. It ends with the lines, or
 * when `ended` says so, and gives their number.
 */
export async function write(
  file: string,
  lines: Iterable<string> | AsyncIterable<string>,
  rate: number,
  ended: () => boolean = () => false,
): Promise<number> {
  const start = Date.now();
  let [written, text, waiting] = [0, '', 0];
  const put = async () => {
    if (waiting > 0) await appendFile(file, text);
    written += waiting;
    [text, waiting] = ['', 0];
  };
  for await (const line of lines) {
    const due = () => Math.floor(((Date.now() - start) * rate) / 1000);
    // Late lines are not held back, but they do not fill the memory either.
    if (waiting >= rate || written + waiting >= due()) await put();
    while (written >= due()) {
      if (ended()) return written;
      await new Promise((done) => setTimeout(done, 10));
    }
    if (ended()) break;
    text += `${line.replace(/"ts":\d+/, `"ts":${Date.now()}`)}\n`;
    waiting++;
  }
  await put();
  return written;
}
