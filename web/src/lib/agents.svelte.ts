import type { Schemas } from './api/client';
import { query, type Query } from './query.svelte';

/** Names of the agents by id, for texts that only have an id. They are read once, and again after a change of the configuration. */
class Agents {
  #known: Query<'/api/agents'> | null = $state.raw(null);
  #names = $derived(new Map(this.list.map((agent) => [agent.id, agent.name ?? agent.id])));

  get list(): Schemas['Agent'][] {
    return this.#known?.data?.agents ?? none;
  }

  start(): void {
    $effect.root(() => {
      this.#known = query('/api/agents', () => ({}), { keys: ['config'], now: true });
    });
  }

  nameOf(id: string): string {
    return this.#names.get(id) ?? id;
  }
}

const none: Schemas['Agent'][] = [];

export const agents = new Agents();
