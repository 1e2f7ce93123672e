import type { Stuck } from './i18n/problems';

const hourMs = 3_600_000;

/** Problems that are hidden in this browser for an hour, or until they change. */
class Snoozed {
  #until: Record<string, number> = $state(read());

  hides(problem: Stuck, now: number): boolean {
    return (this.#until[keyOf(problem)] ?? 0) > now;
  }

  /** Number of problems that are hidden now. */
  count(now: number): number {
    return Object.values(this.#until).filter((until) => until > now).length;
  }

  hide(problem: Stuck, now: number): void {
    this.#until = Object.fromEntries(
      [
        ...Object.entries(this.#until).filter(([, until]) => until > now),
        [keyOf(problem), now + hourMs] as const,
      ].slice(-200),
    );
    this.#save();
  }

  showAll(): void {
    this.#until = {};
    this.#save();
  }

  #save(): void {
    localStorage.setItem('snoozed', JSON.stringify(this.#until));
  }
}

const keyOf = ({ id, code, sinceMs, refs }: Stuck): string => [id, code, sinceMs, refs.seq].join(' ');

function read(): Record<string, number> {
  try {
    return JSON.parse(localStorage.getItem('snoozed') ?? '{}') as Record<string, number>;
  } catch {
    return {};
  }
}

export const snoozed = new Snoozed();
