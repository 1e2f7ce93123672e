import { spawn, type ChildProcess } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** The repository. */
export const top = resolve(import.meta.dirname, '../../..');

/** The binary under test. */
export const binary = process.env.OPENCLAWD_BINARY ?? join(top, 'bin/openclawd');

/** Time at which servers with sample data stand still. */
export const fixedTime = '2026-11-23T03:00:00Z';

const running = new Set<ChildProcess>();
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));

export interface Options {
  /** State directory; without it the server gets sample data or an empty directory of its own. */
  home?: string;
  /** More arguments of `openclawd serve`. */
  args?: string[];
  env?: Record<string, string>;
  /** The binary to run. */
  binary?: string;
  /** Host of the API: 127.0.0.1. */
  host?: string;
  /** Port of the API: 0, a free one. */
  port?: number;
}

/** A running `openclawd serve`. */
export class Server {
  #child: ChildProcess;
  #ended: Promise<unknown>;
  #log = '';
  #out = '';

  private constructor(
    readonly options: Options,
    child: ChildProcess,
  ) {
    this.#child = child;
    this.#ended = new Promise((done) => child.once('exit', done));
    running.add(child);
    void this.#ended.then(() => running.delete(child));
    child.stdout!.on('data', (text) => (this.#out += String(text)));
    child.stderr!.on('data', (text) => (this.#log += String(text)));
  }

  /** Starts a server and waits until it answers. */
  static async start(options: Options = {}): Promise<Server> {
    const args = ['serve', '--api', `${options.host ?? '127.0.0.1'}:${options.port ?? 0}`];
    if (options.home === undefined) args.push('--sample');
    else args.push('--state-dir', options.home);
    if (!options.args?.includes('--gateway') && !options.args?.includes('--follow')) args.push('--gateway', 'off');
    const env = Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !/^(OPENCLAW|TASK_MONITOR|TASK_HUB)/.test(name)),
    );
    const child = spawn(options.binary ?? binary, [...args, ...(options.args ?? [])], {
      env: { ...env, ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const server = new Server(options, child);
    await until(() => {
      if (child.exitCode !== null) throw new Error(`openclawd serve ended: ${server.output}`);
      return server.#out.includes('Task-Hub on ');
    }, 'Task-Hub on URL');
    return server;
  }

  /** Everything that the server has printed. */
  get output(): string {
    return this.#out + this.#log;
  }

  /** Address of the API, without a slash at the end. */
  get origin(): string {
    return /listening on (http:\/\/\S+)/.exec(this.#out)![1]!;
  }

  get port(): number {
    return Number(new URL(this.origin).port);
  }

  /** Address of a page: `url('c/ws_1')`. */
  url(path = ''): string {
    return `${this.origin}/ui/${path}`;
  }

  /** Answer of the API to a path such as `tasks?open=true`. */
  async api<A = any>(path: string, init?: RequestInit): Promise<A> {
    const response = await fetch(`${this.origin}/api/${path}`, init);
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as A;
  }

  /** Seq of the last event. */
  async head(): Promise<number> {
    return (await this.api<{ seq: number }>('health')).seq;
  }

  /** Waits until no event has come for a while: the agents of the sample have done what they do without a clock. */
  async settle(quietMs = 4000): Promise<number> {
    let [head, since] = [-1, Date.now()];
    await until(
      async () => {
        const now = await this.head();
        if (now !== head) [head, since] = [now, Date.now()];
        return Date.now() - since >= quietMs;
      },
      'the server to settle',
      60_000,
    );
    return head;
  }

  /** Ends the process; SIGKILL is a crash. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill(signal);
    await this.#ended;
  }
}

/** Makes a temporary directory; the second value removes it. */
export async function temporary(): Promise<[dir: string, remove: () => Promise<void>]> {
  const dir = await mkdtemp(join(tmpdir(), 'openclawd-ui-'));
  return [dir, () => rm(dir, { recursive: true, force: true, maxRetries: 5 })];
}

/** A line of a coordination log. */
export interface Line {
  type: string;
  agentId: string;
  ts: number;
  data: Record<string, unknown>;
}

/** Writes a state directory: openclaw.json of a team, and its log. */
export async function writeHome(dir: string, agents: { id: string; name: string }[], lines: Line[] = []) {
  await mkdir(join(dir, 'logs'), { recursive: true });
  // With --follow the team are the agents that have a workspace.
  for (const { id } of agents) await mkdir(join(dir, `workspace-${id}`), { recursive: true });
  const list = agents.map((agent) => ({ ...agent, workspace: join(dir, `workspace-${agent.id}`) }));
  await writeFile(join(dir, 'openclaw.json'), JSON.stringify({ agents: { defaults: { model: 'x' }, list } }));
  await writeFile(logFile(dir), textOf(lines));
}

export const logFile = (dir: string) => join(dir, 'logs/coordination-events.ndjson');

export const textOf = (lines: Line[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join('');

/** A copy of the sample's directory, for servers that do not play it. */
export async function copySample(dir: string) {
  await cp(join(top, 'testdata/sample'), dir, { recursive: true });
  const file = join(dir, 'openclaw.json');
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replaceAll('"~/.openclaw/', `"${dir}/`));
}

/** Waits until a condition holds. */
export async function until(holds: () => boolean | Promise<boolean>, what: string, ms = 20_000): Promise<void> {
  for (const end = Date.now() + ms; ;) {
    if (await holds()) return;
    if (Date.now() > end) throw new Error(`waited ${ms} ms for ${what}`);
    await new Promise((done) => setTimeout(done, 25));
  }
}
