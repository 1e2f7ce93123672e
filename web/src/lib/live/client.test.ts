import { beforeEach, describe, expect, it } from 'vitest';
import { lateMs, LiveClient, maxReplay, probeAfterMs, type Event, type Frame, type Socket } from './client';

/** A log, a clock and the sockets that were opened: everything outside of the client. */
class World {
  time = 1_000_000;
  head = 0;
  dice = 0.5;
  sockets: FakeSocket[] = [];
  answers = true;
  #timers: { at: number; run: () => void }[] = [];

  open = (since: number | undefined): Socket => {
    const socket = new FakeSocket(this, since);
    this.sockets.push(socket);
    return socket;
  };
  headOf = async (): Promise<number> => {
    if (!this.answers) throw new Error('no answer');
    return this.head;
  };
  after = (ms: number, run: () => void) => {
    const timer = { at: this.time + ms, run };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  };
  get last(): FakeSocket {
    return this.sockets.at(-1)!;
  }

  /** Lets time pass, timer by timer, and lets promises settle after each. */
  async pass(ms: number): Promise<void> {
    const end = this.time + ms;
    for (;;) {
      const next = this.#timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.time = next.at;
      next.run();
      for (let i = 0; i < 5; i++) await Promise.resolve();
    }
    this.time = end;
  }
}

class FakeSocket implements Socket {
  onopen = null;
  onmessage: Socket['onmessage'] = null;
  onclose: Socket['onclose'] = null;
  closed = false;
  constructor(
    private world: World,
    readonly since: number | undefined,
  ) {}

  close(): void {
    this.closed = true;
  }
  frame(type: string, data: unknown): void {
    this.onmessage?.({ data: JSON.stringify({ type, timestamp: '', data }) });
  }
  connected(): void {
    this.frame('connected', {
      message: 'Connected to Task Monitor',
      seq: this.since ?? this.world.head,
      head: this.world.head,
    });
  }
  /** The events from one seq to another, both included. */
  events(from: number, to: number): void {
    const events = Array.from({ length: to - from + 1 }, (_, i) => ({ seq: from + i, type: 'a2a.send', data: {} }));
    this.frame('coordination_event_new', { events, affectedWorkSessions: ['ws_1'], seq: to });
  }
  drop(code = 1006, reason = ''): void {
    this.onclose?.({ code, reason });
  }
}

let world: World;
let client: LiveClient;
let seen: number[];
let refreshed: number[];
let restored: number[];
let reconnected: number[];
let hints: Frame[];

beforeEach(() => {
  world = new World();
  [seen, refreshed, restored, reconnected, hints] = [[], [], [], [], []];
  client = new LiveClient(
    { open: world.open, head: world.headOf, now: () => world.time, random: () => world.dice, after: world.after },
    {
      events: (events: Event[]) => seen.push(...events.map(({ seq }) => seq)),
      hint: (frame) => hints.push(frame),
      refresh: (seq) => refreshed.push(seq),
      restored: (head) => restored.push(head),
      reconnected: (seq) => reconnected.push(seq),
      changed: () => {},
    },
  );
});

/** Connects to a log with a head. */
function connect(head: number): void {
  world.head = head;
  client.start();
  world.last.connected();
}

describe('connecting', () => {
  it('begins at the head and has pages read again', () => {
    connect(100);
    expect(world.last.since).toBeUndefined();
    expect([client.state, client.seq, refreshed]).toEqual(['live', 100, [100]]);
  });

  it('opens one socket however often it is started', () => {
    connect(1);
    client.start();
    expect(world.sockets).toHaveLength(1);
  });
});

describe('events', () => {
  it('come once and in order, whatever is sent again', () => {
    connect(10);
    world.last.events(11, 13);
    world.last.events(12, 15);
    world.last.events(9, 15);
    expect(seen).toEqual([11, 12, 13, 14, 15]);
    expect(client.seq).toBe(15);
  });

  it('are neither lost nor doubled over 50 cuts', async () => {
    connect(0);
    let next = 1;
    for (let cut = 0; cut < 50; cut++) {
      const from = Math.max(1, next - (cut % 4));
      world.head = next + 7;
      world.last.events(from, next + 3);
      world.last.drop(cut % 3 === 0 ? 1012 : 1006);
      next += 4;
      world.head = next + 5;
      await world.pass(client.retryAt - world.time);
      expect(world.last.since).toBe(next - 1);
      world.last.connected();
      expect(client.state).toBe('catching_up');
      world.last.events(next, world.head);
      expect(client.state).toBe('live');
      next = world.head + 1;
    }
    expect(seen).toEqual(Array.from({ length: next - 1 }, (_, i) => i + 1));
    expect(refreshed).toEqual([0]);
    expect(reconnected).toHaveLength(50);
  });

  it('of an old socket are not heard after a new one was opened', async () => {
    connect(5);
    const old = world.last;
    old.drop();
    await world.pass(1000);
    old.events(6, 9);
    expect(seen).toEqual([]);
  });

  it('of other kinds are hints', () => {
    connect(5);
    world.last.frame('task_update', { event: 'change' });
    expect(hints.map(({ type }) => type)).toEqual(['task_update']);
  });
});

describe('reconnecting', () => {
  it('says so, because hints of the time between are lost', async () => {
    connect(5);
    expect(reconnected).toEqual([]);
    world.last.drop();
    await world.pass(1000);
    expect(reconnected).toEqual([]);
    world.last.connected();
    expect(reconnected).toEqual([5]);
  });

  it('waits twice as long after each failure, up to 30 seconds', async () => {
    connect(1);
    world.last.drop();
    const waits: number[] = [];
    for (let i = 0; i < 10; i++) {
      const from = world.time;
      const before = world.sockets.length;
      while (world.sockets.length === before) await world.pass(100);
      waits.push(world.time - from);
      world.last.drop();
    }
    expect(waits).toEqual([500, 1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000, 30000]);
  });

  it('spreads the attempts of many clients by 30 per cent', async () => {
    connect(1);
    for (const [dice, wait] of [
      [0, 350],
      [1, 650],
    ] as const) {
      world.dice = dice;
      world.last.drop();
      expect(client.retryAt - world.time).toBeCloseTo(wait);
      await world.pass(1000);
      world.last.connected();
    }
  });

  it('begins with a short wait again after a success', async () => {
    connect(1);
    for (let i = 0; i < 4; i++) {
      world.last.drop();
      await world.pass(client.retryAt - world.time);
    }
    world.last.connected();
    world.last.drop();
    expect(client.retryAt - world.time).toBe(500);
  });

  it('tries at once when the network is back', () => {
    connect(1);
    world.last.drop();
    client.hurry();
    expect(world.sockets).toHaveLength(2);
    expect(world.last.since).toBe(1);
  });

  it('does not open a second socket when hurried while connecting', () => {
    connect(1);
    world.last.drop();
    client.hurry();
    client.hurry();
    expect(world.sockets).toHaveLength(2);
  });

  it('goes on at its seq when it was too slow, and after three times in a minute reads again instead', async () => {
    connect(10);
    for (const seq of [20, 30]) {
      world.head = seq;
      world.last.events((client.seq ?? 0) + 1, seq);
      world.last.drop(1013, JSON.stringify({ code: 'slow', seq, hint: '' }));
      expect(world.last.since).toBe(seq);
      world.last.connected();
    }
    world.last.drop(1013, '{}');
    await world.pass(5000);
    expect(world.last.since).toBeUndefined();
    world.head = 99;
    world.last.connected();
    expect(refreshed).toEqual([10, 99]);
    expect(client.seq).toBe(99);
  });

  it('reads again instead of replaying a gap that is too large', async () => {
    connect(10);
    world.last.drop();
    world.head = 10 + maxReplay + 1;
    await world.pass(1000);
    const skipped = world.last;
    skipped.connected();
    expect(skipped.closed).toBe(true);
    expect(world.last.since).toBe(world.head);
    expect(refreshed).toEqual([10, world.head]);
    world.last.connected();
    expect(client.state).toBe('live');
    expect(seen).toEqual([]);
  });

  it('replays a gap of the allowed size', async () => {
    connect(10);
    world.last.drop();
    world.head = 10 + maxReplay;
    await world.pass(1000);
    world.last.connected();
    expect([client.state, refreshed]).toEqual(['catching_up', [10]]);
  });

  it('notices that the database was restored', async () => {
    connect(100);
    world.last.drop();
    world.head = 40;
    await world.pass(1000);
    world.last.connected();
    expect([restored, client.seq]).toEqual([[40], 40]);
  });
});

describe('silence', () => {
  it('is no fault when the log is quiet too', async () => {
    connect(10);
    await world.pass(10 * probeAfterMs);
    expect(world.sockets).toHaveLength(1);
    expect(client.state).toBe('live');
  });

  it('is a dead connection when the log went on', async () => {
    connect(10);
    world.head = 12;
    await world.pass(probeAfterMs + lateMs + 10);
    expect(world.sockets[0]!.closed).toBe(true);
    await world.pass(1000);
    expect(world.last.since).toBe(10);
  });

  it('is no fault when the frame of an event is on its way', async () => {
    connect(10);
    world.head = 11;
    await world.pass(probeAfterMs + lateMs / 2);
    world.last.events(11, 11);
    await world.pass(3 * probeAfterMs);
    expect(world.sockets).toHaveLength(1);
    expect([client.state, client.reconnects]).toEqual(['live', 0]);
  });

  it('is a dead connection when the server does not answer', async () => {
    connect(10);
    world.answers = false;
    await world.pass(probeAfterMs + 1000);
    expect(world.sockets.length).toBeGreaterThan(1);
  });

  it('while connecting ends the attempt', async () => {
    world.head = 3;
    client.start();
    await world.pass(probeAfterMs + 1000);
    expect(world.sockets.length).toBe(2);
  });
});

describe('stopping', () => {
  it('closes the socket, and starting goes on at the same seq', async () => {
    connect(10);
    world.last.events(11, 11);
    client.stop('hidden');
    expect([client.state, world.last.closed]).toEqual(['hidden', true]);
    await world.pass(10 * probeAfterMs);
    expect(world.sockets).toHaveLength(1);
    client.start();
    expect(world.last.since).toBe(11);
  });
});
