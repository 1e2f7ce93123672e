import { read, Building, type Schemas } from './api/client';
import { live } from './live/live.svelte';

/** Names of the agents by id, for texts that only have an id. They are read once, and again after a change of the configuration. */
class Agents {
  list: Schemas['Agent'][] = $state.raw([]);
  #names = $derived(new Map(this.list.map((agent) => [agent.id, agent.name ?? agent.id])));
  #pending = false;

  start(): void {
    void this.#read();
    live.onStale((keys) => {
      if (keys === 'all' || keys.has('config')) void this.#read();
    });
  }

  nameOf(id: string): string {
    return this.#names.get(id) ?? id;
  }

  async #read(): Promise<void> {
    if (this.#pending) return;
    this.#pending = true;
    try {
      const result = await read('/api/agents');
      if (!(result instanceof Building)) this.list = result.data.agents;
    } catch {
      // Ids are shown until the next change.
    } finally {
      this.#pending = false;
    }
  }
}

export const agents = new Agents();
