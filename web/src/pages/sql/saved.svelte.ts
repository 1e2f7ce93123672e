/** Questions that this browser keeps, by name. */
class Saved {
  list: { name: string; sql: string }[] = $state(load());

  get(name: string): string | undefined {
    return this.list.find((one) => one.name === name)?.sql;
  }

  put(name: string, sql: string): void {
    this.list = [...this.list.filter((one) => one.name !== name), { name, sql }].sort((a, b) =>
      a.name.localeCompare(b.name),
    );
    this.#store();
  }

  remove(name: string): void {
    this.list = this.list.filter((one) => one.name !== name);
    this.#store();
  }

  #store(): void {
    localStorage.setItem('sql.saved', JSON.stringify(this.list));
  }
}

function load(): { name: string; sql: string }[] {
  try {
    const list: unknown = JSON.parse(localStorage.getItem('sql.saved') ?? '[]');
    if (!Array.isArray(list)) return [];
    return list.filter((one) => typeof one?.name === 'string' && typeof one?.sql === 'string');
  } catch {
    return [];
  }
}

export const saved = new Saved();
