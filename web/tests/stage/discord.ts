import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { top, until } from './server.ts';

/** The program that plays agents in a Discord, Telegram or Slack of its own. */
const program = process.env.OPENCLAWD_DEMO ?? join(top, 'bin/demo');

export interface Play {
  url(path?: string): string;
  api<A = any>(path: string): Promise<A>;
  /** Link to the message that mentions a third agent, as Discord copies it. */
  link: string;
  messageId: string;
  stop(): Promise<void>;
}

/** Plays the conversation and returns once it is over; the server goes on until it is stopped. */
export async function playDiscord(channel = 'discord'): Promise<Play> {
  const child = spawn(program, ['-keep', '-patience', '2m', '-channel', channel], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const end = () => child.kill('SIGKILL');
  process.on('exit', end);
  let [out, errors] = ['', ''];
  child.stdout.on('data', (text) => (out += String(text)));
  child.stderr.on('data', (text) => (errors += String(text)));
  const ended = new Promise((done) => child.once('exit', done));
  await until(
    () => {
      if (child.exitCode !== null) throw new Error(`demo ended: ${out}${errors}`);
      return out.includes('Ctrl-C ends it.');
    },
    'demo',
    120_000,
  );
  const origin = /^Task-Hub on (http:\/\/[^/]+)\/ui\/$/m.exec(out)![1]!;
  // Slack has no such links.
  const link = /^message (https:\/\/\S+)$/m.exec(out)?.[1] ?? '';
  return {
    url: (path = '') => `${origin}/ui/${path}`,
    async api(path) {
      const response = await fetch(`${origin}/api/${path}`);
      if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
      return await response.json();
    },
    link,
    messageId: link.split('/').at(-1)!,
    async stop() {
      child.kill('SIGINT');
      await ended;
      process.off('exit', end);
    },
  };
}
