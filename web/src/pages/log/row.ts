import { plainLine } from '$lib/text';
import type { Event } from '$lib/live/client';

/** What the list keeps of an event: its texts are cut, so that 100,000 rows fit into memory. */
export interface Row {
  seq: number;
  time: number;
  type: string;
  from: string;
  to: string;
  text: string;
  isError: boolean;
}

const textLength = 240;

export function rowOf(event: Event): Row {
  const record = event as Record<string, unknown>;
  const text = (key: string) => (typeof record[key] === 'string' ? record[key] : '');
  return {
    seq: event.seq,
    time: Number(record.time),
    type: event.type,
    from: text('from') || text('agentId'),
    to: text('to'),
    text: plainLine(text('displayText').slice(0, textLength)),
    isError: record.isError === true,
  };
}
