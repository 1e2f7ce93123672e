import { agents } from '../agents.svelte';
import { t } from '../i18n/index.svelte';
import { w } from './words';

/** What is known of a plan, a task or a call of a tool that waits, or has waited, for approval. Steps of plans in files may be anything. */
interface Asked {
  kind?: 'task' | 'plan' | 'call';
  title?: string;
  agentId: string;
  steps?: unknown;
  description?: string;
  call?: { tool: string; arguments?: object; input?: unknown };
}

const longest = 80;

/** Arguments in words: `: path notes.md, lines 3`. */
function listed(given: object): string {
  const words = Object.entries(given)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ')
    .replace(/\s+/g, ' ');
  return words && `: ${words.length > longest ? `${words.slice(0, longest)}…` : words}`;
}

/** What it is called: its title; without one its agent, and its first step or the first words of its description. */
export function nameOf({ kind = 'plan', title, agentId, steps, description, call }: Asked): string {
  // The title of a call ends with its arguments as JSON, unless it is a command or a question.
  if (call?.arguments && !call.input && title?.startsWith(`${call.tool} {`))
    return `${call.tool}${listed(call.arguments)}`;
  if (title?.trim()) return title;
  const first = [...(Array.isArray(steps) ? (steps as unknown[]) : []), description].find(
    (text): text is string => typeof text === 'string' && text.trim() !== '',
  );
  const words = first?.trim().split('\n', 1)[0] ?? '';
  return t(
    { plan: w.planOf, task: w.taskOf, call: w.callOf }[kind],
    agents.nameOf(agentId),
    words.length > longest ? `${words.slice(0, longest)}…` : words,
  );
}
