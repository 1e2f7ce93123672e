const key = 'searches';
const most = 10;

function read(): string[] {
  try {
    const saved: unknown = JSON.parse(localStorage.getItem(key) ?? '[]');
    return Array.isArray(saved) ? saved.filter((item) => typeof item === 'string').slice(0, most) : [];
  } catch {
    return [];
  }
}

/** The last searches of this browser, newest first. */
class Recent {
  list: string[] = $state.raw(read());

  note(q: string): void {
    this.#save([q, ...this.list.filter((other) => other !== q)].slice(0, most));
  }
  forget(q: string): void {
    this.#save(this.list.filter((other) => other !== q));
  }
  clear(): void {
    this.#save([]);
  }

  #save(list: string[]): void {
    this.list = list;
    localStorage.setItem(key, JSON.stringify(list));
  }
}

export const recent = new Recent();
