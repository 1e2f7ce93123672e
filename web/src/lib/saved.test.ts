import { describe, expect, it } from 'vitest';
import { exported, imported } from './saved';

/** A storage as browsers have it. */
function storageOf(values: Record<string, string>): Storage {
  const storage = Object.assign(Object.create({}), values) as Storage & Record<string, string>;
  for (const [key, does] of Object.entries({
    getItem: (at: string) => storage[at] ?? null,
    setItem: (at: string, value: string) => void (storage[at] = value),
  }))
    Object.defineProperty(storage, key, { value: does });
  return storage;
}

describe('export and import', () => {
  it('keeps everything, and what is there already', () => {
    const text = exported(storageOf({ theme: 'dark', 'sql.saved': '[{"name":"이름"}]', 'bad key': 'x' }));
    const other = storageOf({ language: 'en', theme: 'light' });
    expect(imported(text, other)).toBe(2);
    expect({ ...other }).toEqual({ language: 'en', theme: 'dark', 'sql.saved': '[{"name":"이름"}]' });
  });

  it('changes nothing for a file of another kind', () => {
    for (const text of [
      '',
      '{',
      '[]',
      'null',
      '{"values":{"a":"b"}}',
      '{"format":"task-hub-settings-v1"}',
      '{"format":"task-hub-settings-v1","values":["a"]}',
      '{"format":"task-hub-settings-v1","values":{"a":"b","theme":1}}',
      '{"format":"task-hub-settings-v1","values":{"a":"b","../x":"y"}}',
      JSON.stringify({ format: 'task-hub-settings-v1', values: { a: 'x'.repeat(1_000_001) } }),
      JSON.stringify({
        format: 'task-hub-settings-v1',
        values: Object.fromEntries(Array.from({ length: 201 }, (_, i) => [`a${i}`, ''])),
      }),
    ]) {
      const storage = storageOf({});
      expect(imported(text, storage), text.slice(0, 60)).toBeNull();
      expect({ ...storage }).toEqual({});
    }
  });
});
