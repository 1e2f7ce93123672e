/** The agent of a session key such as `agent:eden:main`, and what the rest of it says; null for other texts. */
export function sessionPlace(key: string): { agent: string; rest: string; main: boolean } | null {
  const [, agent, rest] = /^agent:([^:]+):(.+)$/.exec(key) ?? [];
  return agent && rest ? { agent, rest, main: rest === 'main' } : null;
}
