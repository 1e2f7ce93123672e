import { beforeEach, describe, expect, it } from 'vitest';
import { GatewayClient, requestMs, silenceMs, type GatewayError, type Socket } from './client';

class FakeSocket implements Socket {
  onmessage: Socket['onmessage'] = null;
  onclose: Socket['onclose'] = null;
  sent: { id: string; method: string; params: object }[] = [];
  closed = false;
  send(text: string) {
    this.sent.push(JSON.parse(text));
  }
  close() {
    this.closed = true;
  }
  say(frame: object) {
    this.onmessage?.({ data: JSON.stringify(frame) });
  }
  hello() {
    this.say({ type: 'event', event: 'hello-ok', payload: {} });
  }
}

class World {
  sockets: FakeSocket[] = [];
  time = 0;
  timers: { at: number; run: () => void }[] = [];
  open = () => {
    this.sockets.push(new FakeSocket());
    return this.last;
  };
  random = () => 0.5;
  after = (ms: number, run: () => void) => {
    const timer = { at: this.time + ms, run };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((other) => other !== timer);
    };
  };
  get last() {
    return this.sockets.at(-1)!;
  }
  pass(ms: number) {
    const end = this.time + ms;
    for (;;) {
      const next = this.timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.timers = this.timers.filter((timer) => timer !== next);
      this.time = next.at;
      next.run();
    }
    this.time = end;
  }
}

let world: World;
let heard: string[];
let client: GatewayClient;

beforeEach(() => {
  world = new World();
  heard = [];
  client = new GatewayClient(world, {
    opened: () => heard.push('opened'),
    event: (name) => heard.push(name),
    refused: () => heard.push('refused'),
    changed: () => {},
  });
  client.start();
});

describe('gateway', () => {
  it('asks and is answered, in any order', async () => {
    world.last.hello();
    const first = client.request<number>('a', {});
    const second = client.request<number>('b', {});
    const [one, two] = world.last.sent;
    world.last.say({ type: 'res', id: two!.id, ok: true, payload: 2 });
    world.last.say({ type: 'res', id: one!.id, ok: false, error: { code: 'FORBIDDEN', message: 'no' } });
    world.last.say({ type: 'event', event: 'chat', payload: {} });
    expect(await second).toBe(2);
    await expect(first).rejects.toMatchObject({ code: 'FORBIDDEN', lost: false });
    expect(heard).toEqual(['opened', 'chat']);
  });

  it('comes back, and loses what was asked', async () => {
    world.last.hello();
    const asked = client.request('a', {});
    world.last.onclose!({ code: 1012, reason: '' });
    await expect(asked).rejects.toMatchObject({ lost: true });
    expect(client.state).toBe('waiting');
    await expect(client.request('b', {})).rejects.toMatchObject({ code: 'OFFLINE', lost: true });
    world.pass(500);
    expect(world.sockets).toHaveLength(2);
    world.last.hello();
    expect(client.state).toBe('open');
    expect(heard).toEqual(['opened', 'opened']);
  });

  it('tells of a connection that never opened, and waits longer each time', () => {
    const waits: number[] = [];
    for (let i = 0; i < 7; i++) {
      world.last.onclose!({ code: 1006, reason: '' });
      const before = world.time;
      const sockets = world.sockets.length;
      while (world.sockets.length === sockets) world.pass(50);
      waits.push(world.time - before);
    }
    expect(waits).toEqual([500, 1000, 2000, 4000, 8000, 15_000, 15_000]);
    expect(heard).toEqual(Array(7).fill('refused'));
    world.last.onclose!({ code: 1006, reason: '' });
    client.hurry();
    expect(world.sockets).toHaveLength(9);
  });

  it('leaves a connection that is silent or does not answer', async () => {
    world.last.hello();
    world.pass(silenceMs - 1);
    world.last.say({ type: 'event', event: 'tick', payload: {} });
    world.pass(silenceMs - 1);
    expect(client.state).toBe('open');
    world.pass(1);
    expect(client.state).toBe('waiting');
    world.pass(1000);
    world.last.hello();
    const asked = client.request('a', {}).catch((error: GatewayError) => error.code);
    world.pass(requestMs);
    expect(await asked).toBe('TIMEOUT');
    expect(world.sockets.at(-2)!.closed || client.state !== 'open').toBe(true);
  });

  it('stops for good', () => {
    world.last.hello();
    client.stop();
    expect(world.last.closed).toBe(true);
    world.pass(1_000_000);
    expect(world.sockets).toHaveLength(1);
    expect(world.timers).toHaveLength(0);
  });
});
