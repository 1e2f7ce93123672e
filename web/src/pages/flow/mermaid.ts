import type { Trace, TraceNode } from './layout';

/** Renderers reject diagrams of more than a few hundred lines. */
const mostLines = 400;

interface Line {
  at: number;
  seq: number;
  from: string;
  /** Null is a note over `from`. */
  to: string | null;
  arrow: '->>' | '-->>' | '--x';
  text: string;
}

/**
 * A trace as a sequence diagram in Mermaid's language, like `openclawd trace --mermaid`: what agents passed on, in order of time. Texts are
 * escaped so that none of them is read as syntax.
 */
export function mermaid(trace: Trace): string {
  const lines = linesOf(trace.roots).sort((a, b) => a.at - b.at || a.seq - b.seq);
  const who: string[] = [];
  const alias = (agent: string) => {
    if (!who.includes(agent)) who.push(agent);
    return `p${who.indexOf(agent)}`;
  };
  const body = lines
    .slice(0, mostLines)
    .map(({ from, to, arrow, text }) =>
      to === null
        ? `  Note over ${alias(from)}: ${escaped(text)}`
        : `  ${alias(from)}${arrow}${alias(to)}: ${escaped(text)}`,
    );
  if ((trace.cut || lines.length > mostLines) && who.length > 0) body.push('  Note over p0: there is more');
  const head = who.map((agent, index) => `  participant p${index} as ${escaped(agent)}`);
  return ['sequenceDiagram', ...head, ...body, ''].join('\n');
}

function linesOf(roots: readonly TraceNode[]): Line[] {
  const lines: Line[] = [];
  const rest = [...roots];
  for (let node = rest.pop(); node; node = rest.pop()) {
    rest.push(...(node.children ?? []));
    const agent = node.agent ?? 'unknown';
    const note = (at: number, text: string) =>
      lines.push({ at, seq: node!.seq, from: agent, to: null, arrow: '->>', text });
    if (node.kind === 'run' && !node.role) note(node.at, node.question ?? `run ${node.id}`);
    if (node.late) note(node.endedAt ?? node.at, `an answer, ${node.lateMs ?? 0} ms too late`);
    for (const message of node.messages ?? []) {
      const { at, seq, type, from = 'unknown', to = 'unknown', outcome, preview, reason } = message;
      const name = type.replace(/^a2a\./, '');
      const text = [outcome, preview ?? reason].filter(Boolean).join(': ') || name;
      const arrow = outcome ? '--x' : type === 'a2a.response' ? '-->>' : '->>';
      const passes = ['a2a.send', 'a2a.response', 'a2a.spawn'].includes(type);
      lines.push({ at, seq, from, to: passes ? to : null, arrow, text: passes ? text : `${name}: ${text}` });
    }
  }
  return lines;
}

/** Words that end a block or begin a style, even within a text. */
const syntax = /\b(end|style|classdef)\b/gi;

/** Letters and digits of any script, blanks and a few signs are kept; everything else is its character number. */
function escaped(text: string): string {
  const broken = new Set([...text.matchAll(syntax)].map(({ index }) => index));
  let [out, at] = ['', 0];
  for (const sign of text) {
    const code = sign.codePointAt(0)!;
    if (broken.has(at)) out += `#${code};`;
    else if (/[\p{L}\p{N}\p{M} .,!?()/'_]/u.test(sign)) out += sign;
    else if (/\s/.test(sign)) out += ' ';
    else if (/[\p{Cc}\p{Cf}\p{Cs}]/u.test(sign)) out += '\uFFFD';
    else out += code < 0x7f ? `#${code};` : sign;
    at += sign.length;
  }
  return out;
}
