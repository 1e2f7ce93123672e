import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { top } from '../tests/stage/server.ts';

const program = join(top, 'bin/openclawd-bench');

/** Makes a state directory with the benchmarks' log of some events; `next` more lines are in next.ndjson. */
export async function fill(dir: string, events: number, next = 0) {
  await promisify(execFile)(program, ['fill', '--out', dir, '--events', String(events), '--next', String(next)]);
}
