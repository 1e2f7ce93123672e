import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fixedTime, Server, top } from './server.ts';

/**
 * Starts the server that all tests share which change nothing: the sample team, at a time that stands still, after its agents have done what
 * they do. Its address is in OPENCLAWD_UI_SAMPLE; a server that is there already is used. Returns what ends it.
 */
export default async function setup() {
  process.env.OPENCLAWD_UI_RUN = String(process.pid);
  const removeViews = () => rm(join(top, 'bin/ui-test-views'), { recursive: true, force: true });
  await removeViews();
  if (process.env.OPENCLAWD_UI_SAMPLE) return removeViews;
  const server = await Server.start({ args: ['--clock', fixedTime] });
  await server.settle();
  process.env.OPENCLAWD_UI_SAMPLE = server.origin;
  return async () => {
    await server.stop();
    await removeViews();
  };
}
