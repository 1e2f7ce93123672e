import { agents } from '$lib/agents.svelte';
import type { Schemas } from '$lib/api/client';
import { workStates } from '$lib/i18n/agents';
import {
  collaborationStatuses,
  deliveries,
  flowOutcomes,
  flowPhases,
  outcomes,
  priorities,
  reasons,
  reasonSentence,
  runFailures,
  runStates,
  taskStates,
} from '$lib/i18n/codes';
import { exact } from '$lib/i18n/format';
import { eventTypes } from '$lib/i18n/events';
import { t, type Word } from '$lib/i18n/index.svelte';
import { planStates, stepStates } from '$lib/i18n/tasks';

/** Longest value that is shown; the whole one is in the answer of the API. */
const longest = 300;

/** Dictionaries of columns with codes, by table and column. */
const codes: Record<string, Record<string, Word>> = {
  'tasks.status': taskStates,
  'tasks.priority': priorities,
  'session_tasks.state': taskStates,
  'plans.status': planStates,
  'threads.outcome': outcomes,
  'threads.reason_code': reasons,
  'runs.state': runStates,
  'runs.error_class': runFailures,
  'work.state': workStates,
  'a2a_jobs.phase': flowPhases,
  'a2a_jobs.outcome': flowOutcomes,
  'collaborations.status': collaborationStatuses,
  'collaborations.delivery': deliveries,
  'agent_activity.type': eventTypes,
};

type Change = Pick<Schemas['ReplayChange'], 'table' | 'columns'>;

/** A column of a changed row before or after, as people read it: the reason of a conversation by its code, which changes with it. */
export function side({ table, columns }: Change, name: string, which: 'before' | 'after'): string {
  const of = (column: string) => columns.find((one) => one.name === column)?.[which];
  const raw = of(name);
  const code = table === 'threads' && name === 'reason' ? of('reason_code') : undefined;
  if (typeof code === 'string' && typeof raw === 'string' && raw !== '') return shortened(reasonSentence(code, raw));
  return value(table, name, raw);
}

/** A value of a table's column as people read it: codes as words, times as times, other values as they are; '' for none. */
function value(table: string, column: string, raw: unknown): string {
  if (raw === null || raw === undefined || raw === '') return '';
  const word = codes[`${table}.${column}`]?.[String(raw)];
  if (word) return t(word);
  if (column === 'agent') return agents.nameOf(String(raw));
  if (table === 'tasks' && column === 'outcome') return outcomeOf(String(raw));
  if (table === 'task_work' && column === 'steps') return stepsOf(String(raw));
  if (typeof raw === 'number' && /(_at|_time|^at|^since)$/.test(column))
    return raw > 1e11 && raw < 1e14 ? exact(raw) : raw === 0 ? '' : String(raw);
  return shortened(String(raw));
}

/** Steps of a task, each with its state in words. */
function stepsOf(text: string): string {
  try {
    const steps = JSON.parse(text) as { content: string; status: string }[];
    const told = steps.map(({ content, status }) => {
      const word = (stepStates as Record<string, Word | undefined>)[status];
      return `${content} (${word ? t(word) : status})`;
    });
    return shortened(told.join(', '));
  } catch {
    return shortened(text);
  }
}

/** The end of a task in words: its summary or its reason, else how it ended. */
function outcomeOf(text: string): string {
  try {
    const { kind, summary, reason } = JSON.parse(text) as Record<'kind' | 'summary' | 'reason', string | undefined>;
    const word = (taskStates as Record<string, Word | undefined>)[kind ?? ''];
    // Why a task was interrupted is the server's text, in English.
    const told = kind === 'interrupted' ? '' : summary || reason;
    return shortened(told || (word ? t(word) : text));
  } catch {
    return shortened(text);
  }
}

const shortened = (text: string): string => (text.length > longest ? `${text.slice(0, longest)}…` : text);
