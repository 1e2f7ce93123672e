import { describe, expect, it } from 'vitest';
import { layOut, type Group, type Node } from './graph';

const tasks = (text: string): Node[] =>
  text
    .trim()
    .split(/\s*;\s*/)
    .map((line) => {
      const [id = '', needed = ''] = line.split('<').map((part) => part.trim());
      return { id, dependsOn: needed.split(/\s+/).filter(Boolean) };
    });
const at = (group: Group | undefined, id: string) => group?.nodes.find((node) => node.id === id);
const columns = (group: Group | undefined) =>
  Object.fromEntries((group?.nodes ?? []).map(({ id, column }) => [id, column]).sort());

describe('layOut', () => {
  it('draws nothing where no task waits', () => {
    expect(layOut(tasks('a; b'))).toEqual([]);
    expect(layOut([])).toEqual([]);
  });

  it('puts a task right of the last one that it waits for', () => {
    const [group, ...others] = layOut(tasks('d < a c; c < b; b < a; a'));
    expect(others).toEqual([]);
    expect(columns(group)).toEqual({ a: 0, b: 1, c: 2, d: 3 });
    expect(group).toMatchObject({ columns: 4, rows: 2 });
    expect(group!.edges.map(({ from, to }) => `${from}>${to}`).sort()).toEqual(['a>b', 'a>d', 'b>c', 'c>d']);
  });

  it('leads a long line past the tasks between', () => {
    const [group] = layOut(tasks('d < a c; c < b; b < a; a'));
    const long = group!.edges.find(({ from, to }) => from === 'a' && to === 'd')!;
    expect(long.via.map(({ column }) => column)).toEqual([1, 2]);
    for (const { column, row } of long.via)
      expect(group!.nodes.some((node) => node.column === column && node.row === row)).toBe(false);
    expect(group!.edges.filter(({ via }) => via.length > 0)).toEqual([long]);
  });

  it('keeps a task that is not in the list as a node', () => {
    const [group] = layOut(tasks('b < gone'));
    expect(columns(group)).toEqual({ b: 1, gone: 0 });
  });

  it('separates what is not connected, the largest group first', () => {
    const groups = layOut(tasks('b < a; z < x y; y; alone'));
    expect(groups.map(({ nodes }) => nodes.map(({ id }) => id).sort())).toEqual([
      ['x', 'y', 'z'],
      ['a', 'b'],
    ]);
  });

  it('ends with tasks that wait for each other, and marks the edge that closes the circle', () => {
    const [group] = layOut(tasks('a < c; b < a; c < b; d < c'));
    expect(group!.nodes.map(({ id }) => id).sort()).toEqual(['a', 'b', 'c', 'd']);
    expect(group!.edges.filter(({ cyclic }) => cyclic)).toHaveLength(1);
    const itself = layOut(tasks('a < a b; b'));
    expect(columns(itself[0])).toEqual({ a: 1, b: 0 });
  });

  it('gives no two tasks the same place and crosses no two parallel chains', () => {
    const [group] = layOut(tasks('end < b2 a2; a2 < a1; b2 < b1; a1 < start; b1 < start'));
    const places = group!.nodes.map(({ column, row }) => `${column},${row}`);
    expect(new Set(places).size).toBe(places.length);
    expect(at(group, 'a1')!.row < at(group, 'b1')!.row).toBe(at(group, 'a2')!.row < at(group, 'b2')!.row);
  });

  it('places a chain of ten thousand tasks', () => {
    const chain = Array.from({ length: 10_000 }, (_, i) => ({ id: `t${i}`, dependsOn: i > 0 ? [`t${i - 1}`] : [] }));
    expect(layOut(chain.reverse())[0]!.columns).toBe(10_000);
  });
});
