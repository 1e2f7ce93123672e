import { execFile } from 'node:child_process';
import { createServer, type Server as HttpServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test as base } from './test.ts';
import { binary, until, type Options, type Server } from './server.ts';

const run = promisify(execFile);

/** A team that works: three agents whose model does not answer until the test lets it, and a webhook that refuses what it gets. */
export class Team {
  #waiting: ServerResponse[] = [];
  /** Answer of the webhook; 403 is final. */
  hookStatus = 403;
  hooked = 0;

  private constructor(
    readonly home: string,
    readonly model: HttpServer,
    public server: Server,
  ) {}

  static async start(
    home: string,
    serve: (options: Options) => Promise<Server>,
    options: Options & { secrets?: Record<string, unknown> } = {},
  ): Promise<Team> {
    const team: { it?: Team } = {};
    const model = createServer((request, response) => {
      request.resume();
      request.on('end', () => team.it!.#asked(request.url ?? '', response));
    });
    await new Promise<void>((done) => model.listen(0, '127.0.0.1', done));
    const base = `http://127.0.0.1:${(model.address() as AddressInfo).port}`;
    const agents = [
      { id: 'eden', name: '이든' },
      { id: 'seum', name: '세움' },
      { id: 'ruda', name: '루다' },
    ];
    await mkdir(home, { recursive: true });
    await writeFile(
      join(home, 'openclaw.json'),
      JSON.stringify({
        agents: {
          defaults: { model: 'test/main' },
          list: agents.map((one) => ({ ...one, workspace: join(home, one.id) })),
        },
        models: { providers: { test: { baseUrl: `${base}/v1`, apiKey: 'none', models: [{ id: 'main' }] } } },
        tools: { agentToAgent: { enabled: true } },
        gateway: {
          conversationSinks: [
            { id: 'webhook', enabled: true, options: { url: `${base}/hook`, events: ['task.blocked'] } },
          ],
        },
        ...options.secrets,
      }),
    );
    team.it = new Team(home, model, undefined as never);
    team.it.server = await serve({
      ...options,
      home,
      args: ['--gateway', '127.0.0.1:0', ...(options.args ?? [])],
    });
    return team.it;
  }

  #asked(url: string, response: ServerResponse) {
    if (url.startsWith('/hook')) {
      this.hooked++;
      response.writeHead(this.hookStatus).end();
    } else this.#waiting.push(response);
  }

  /** Has an agent call a tool. */
  async call<A = any>(agent: string, tool: string, args: Record<string, unknown>): Promise<A> {
    const { stdout } = await run(binary, [
      'tools',
      'call',
      tool,
      JSON.stringify(args),
      '--agent',
      agent,
      '--state-dir',
      this.home,
      '--json',
    ]);
    const answer = JSON.parse(stdout);
    const text = answer.result?.content?.[0]?.text;
    return text === undefined ? answer : JSON.parse(text);
  }

  /** A task of an agent that waits for approval; returns its id. */
  async waits(title: string, agent = 'eden'): Promise<string> {
    await this.call(agent, 'task_start', {
      description: title,
      requires_approval: true,
      steps: [{ content: '빌드' }, { content: '배포' }],
    });
    return await this.#idOf(title, 'pending_approval');
  }

  /** A task of an agent that is blocked; returns its id. */
  async blocked(title: string, agent = 'ruda'): Promise<string> {
    await this.call(agent, 'task_start', { description: title });
    await this.call(agent, 'task_block', { reason: 'API 키 대기', unblock_by: ['seum'] });
    return await this.#idOf(title, 'blocked');
  }

  async #idOf(title: string, status: string): Promise<string> {
    let id = '';
    await until(async () => {
      const { tasks } = await this.server.api(`tasks?status=${status}&limit=200`);
      id = tasks.find(({ description }: { description: string }) => description === title)?.id ?? '';
      return id !== '';
    }, `task ${title}`);
    return id;
  }

  async eventTypes(type: string): Promise<{ seq: number; data: Record<string, unknown> }[]> {
    return (await this.server.api(`events?scope=all&type=${type}&limit=200`)).events;
  }

  /** Ends the model; the server ends after the pages that use it. */
  async stop() {
    for (const response of this.#waiting) response.destroy();
    this.model.closeAllConnections();
    await new Promise((done) => this.model.close(done));
  }
}

export const test = base.extend<{ working(options?: Options & { secrets?: Record<string, unknown> }): Promise<Team> }>({
  working: async ({ folder, serve }, use) => {
    const teams: Team[] = [];
    await use(async (options) => {
      const team = await Team.start(join(folder, `team${teams.length}`), serve, options);
      teams.push(team);
      return team;
    });
    await Promise.all(teams.map((team) => team.stop()));
  },
});
