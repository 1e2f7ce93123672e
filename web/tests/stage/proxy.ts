import {
  createServer as createHttpServer,
  request,
  type IncomingMessage,
  type Server as HttpServer,
  type ServerResponse,
} from 'node:http';
import { connect, createServer, type AddressInfo, type Server as NetServer, type Socket } from 'node:net';

/** A TCP proxy in front of a server, to disturb connections. */
export class Proxy {
  #server: NetServer;
  #pairs = new Set<{ near: Socket; far: Socket; upgraded: boolean; silent: boolean }>();
  /** Port that connections are passed on to. It may change. */
  target: number;
  /** Milliseconds by which everything is delayed. */
  delayMs = 0;
  /** Connections stay open, but nothing passes. */
  held = false;
  /** New connections are refused. */
  refusing = false;

  private constructor(target: number) {
    this.target = target;
    this.#server = createServer((near) => this.#accept(near));
  }

  static async start(target: number): Promise<Proxy> {
    const proxy = new Proxy(target);
    await new Promise<void>((done) => proxy.#server.listen(0, '127.0.0.1', done));
    return proxy;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  #accept(near: Socket) {
    if (this.refusing) return near.destroy();
    const far = connect(this.target, '127.0.0.1');
    const pair = { near, far, upgraded: false, silent: false };
    this.#pairs.add(pair);
    const end = () => {
      this.#pairs.delete(pair);
      near.destroy();
      far.destroy();
    };
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('data', (data) => {
        if (from === near && data.includes('Upgrade: websocket')) pair.upgraded = true;
        if (this.held || pair.silent) return;
        if (this.delayMs === 0) to.write(data);
        else setTimeout(() => !this.held && to.write(data), this.delayMs);
      });
      from.on('error', end);
      from.on('close', end);
    }
  }

  /** WebSockets that are open stay so, but nothing passes on them any more. Requests and new WebSockets work. */
  silence() {
    for (const pair of this.#pairs) if (pair.upgraded) pair.silent = true;
  }

  /** Ends all connections, as a network that fails: what was sent last may be lost. */
  cut() {
    for (const { near, far } of this.#pairs) {
      near.resetAndDestroy();
      far.destroy();
    }
    this.#pairs.clear();
  }

  async stop() {
    this.cut();
    await new Promise((done) => this.#server.close(done));
  }
}

/**
 * A reverse proxy that serves a server below a prefix of which the server knows nothing: /team/a/ui/c is asked for as /ui/c. `rewrite` may
 * change an answer's headers.
 */
export class PrefixProxy {
  #server: HttpServer;
  #sockets = new Set<Socket>();

  constructor(
    readonly prefix: string,
    /** Port that requests are passed on to. */
    public target: number,
    public rewrite: (headers: IncomingMessage['headers']) => void = () => {},
  ) {
    this.#server = createHttpServer((from, to) => this.#pass(from, to));
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    this.#server.on('upgrade', (from, near: Socket, head) => this.#upgrade(from, near, head));
  }

  async start(): Promise<this> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done));
    return this;
  }

  /** Address of the page. */
  get root(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${this.prefix}/ui/`;
  }

  async stop() {
    this.#sockets.forEach((socket) => socket.destroy());
    await new Promise((done) => this.#server.close(done));
  }

  #pass(from: IncomingMessage, to: ServerResponse) {
    if (!from.url!.startsWith(`${this.prefix}/`)) {
      to.writeHead(404).end();
      return;
    }
    const path = from.url!.slice(this.prefix.length);
    const onward = request(
      { host: '127.0.0.1', port: this.target, method: from.method, path, headers: from.headers },
      (answer) => {
        this.rewrite(answer.headers);
        to.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(to);
      },
    );
    onward.on('error', () => to.destroy());
    from.pipe(onward);
  }

  #upgrade(from: IncomingMessage, near: Socket, head: Buffer) {
    if (!from.url!.startsWith(`${this.prefix}/`)) return near.destroy();
    const far = connect(this.target, '127.0.0.1', () => {
      const lines = [`${from.method} ${from.url!.slice(this.prefix.length)} HTTP/1.1`];
      for (let i = 0; i < from.rawHeaders.length; i += 2) {
        lines.push(`${from.rawHeaders[i]}: ${from.rawHeaders[i + 1]}`);
      }
      far.write(`${lines.join('\r\n')}\r\n\r\n`);
      far.write(head);
      far.pipe(near);
      near.pipe(far);
    });
    near.on('error', () => far.destroy());
    far.on('error', () => near.destroy());
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
  }
}
