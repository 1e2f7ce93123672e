import Activity from '@lucide/svelte/icons/activity';
import Bot from '@lucide/svelte/icons/bot';
import CalendarClock from '@lucide/svelte/icons/calendar-clock';
import CircleAlert from '@lucide/svelte/icons/circle-alert';
import CircleHelp from '@lucide/svelte/icons/circle-question-mark';
import Database from '@lucide/svelte/icons/database';
import History from '@lucide/svelte/icons/history';
import Inbox from '@lucide/svelte/icons/inbox';
import Logs from '@lucide/svelte/icons/logs';
import MessagesSquare from '@lucide/svelte/icons/messages-square';
import Reply from '@lucide/svelte/icons/reply';
import Search from '@lucide/svelte/icons/search';
import Settings from '@lucide/svelte/icons/settings';
import SquareKanban from '@lucide/svelte/icons/square-kanban';
import Wrench from '@lucide/svelte/icons/wrench';
import type { Component } from 'svelte';
import type { Word } from '$lib/i18n/index.svelte';

/** Parameters of a path, decoded: `c/:ws/:thread` gives { ws, thread }. */
export type PageProps = { params: Record<string, string> };

export interface Route {
  /** Path below the root; `:name` is a parameter, `?` after it makes it optional, and `*` takes all that follows, with its slashes. */
  path: string;
  title: Word;
  load: () => Promise<{ default: Component<PageProps> | Component<Record<string, never>> }>;
  /** In the navigation: icon, group, key after g. */
  navigation?: {
    icon: Component;
    group: 'main' | 'tools' | 'foot';
    key: string;
    badge?: 'problems' | 'inbox' | 'owed';
    phone?: boolean;
  };
}

/** The pages. A page that is not finished is not in the navigation. */
export const routes: Route[] = [
  {
    path: '',
    title: { ko: '지금', en: 'Now' },
    load: () => import('../pages/now/Page.svelte'),
    navigation: { icon: CircleAlert, group: 'main', key: 'n', badge: 'problems', phone: true },
  },
  {
    path: 'c/:ws?/:thread?',
    title: { ko: '대화', en: 'Conversations' },
    load: () => import('../pages/conversations/Page.svelte'),
    navigation: { icon: MessagesSquare, group: 'main', key: 'c', phone: true },
  },
  {
    path: 'tasks/:id?',
    title: { ko: '작업', en: 'Tasks' },
    load: () => import('../pages/tasks/Page.svelte'),
    navigation: { icon: SquareKanban, group: 'main', key: 't' },
  },
  {
    path: 'agents/:id?',
    title: { ko: '에이전트', en: 'Agents' },
    load: () => import('../pages/agents/Page.svelte'),
    navigation: { icon: Bot, group: 'main', key: 'a' },
  },
  {
    path: 'inbox/:id?',
    title: { ko: '수신함', en: 'Inbox' },
    load: () => import('../pages/inbox/Page.svelte'),
    navigation: { icon: Inbox, group: 'main', key: 'i', badge: 'inbox', phone: true },
  },
  {
    path: 'owed',
    title: { ko: '답장 대기', en: 'Owed' },
    load: () => import('../pages/owed/Page.svelte'),
    navigation: { icon: Reply, group: 'main', key: 'o', badge: 'owed', phone: true },
  },
  {
    path: 'schedules/:id?',
    title: { ko: '예약', en: 'Schedules' },
    load: () => import('../pages/schedules/Page.svelte'),
    navigation: { icon: CalendarClock, group: 'tools', key: 'd' },
  },
  {
    path: 'tools',
    title: { ko: '도구', en: 'Tools' },
    load: () => import('../pages/tools/Page.svelte'),
    navigation: { icon: Wrench, group: 'tools', key: 'u' },
  },
  { path: 'chat/:agent', title: { ko: '채팅', en: 'Chat' }, load: () => import('../pages/chat/Page.svelte') },
  { path: 'flow/:id', title: { ko: '흐름', en: 'Flow' }, load: () => import('../pages/flow/Page.svelte') },
  {
    path: 'log',
    title: { ko: '로그', en: 'Log' },
    load: () => import('../pages/log/Page.svelte'),
    navigation: { icon: Logs, group: 'tools', key: 'l' },
  },
  {
    path: 'time/:view?',
    title: { ko: '시점', en: 'Time' },
    load: () => import('../pages/time/Page.svelte'),
    navigation: { icon: History, group: 'tools', key: 'm' },
  },
  {
    path: 'why/:messageId?',
    title: { ko: '왜?', en: 'Why' },
    load: () => import('../pages/why/Page.svelte'),
    navigation: { icon: CircleHelp, group: 'tools', key: 'w' },
  },
  {
    path: 'sql',
    title: { ko: 'SQL', en: 'SQL' },
    load: () => import('../pages/sql/Page.svelte'),
    navigation: { icon: Database, group: 'tools', key: 's' },
  },
  {
    path: 'search',
    title: { ko: '검색', en: 'Search' },
    load: () => import('../pages/search/Page.svelte'),
    navigation: { icon: Search, group: 'main', key: '/' },
  },
  {
    path: 'health',
    title: { ko: '상태', en: 'Health' },
    load: () => import('../pages/health/Page.svelte'),
    navigation: { icon: Activity, group: 'foot', key: 'h' },
  },
  {
    path: 'settings/:view?',
    title: { ko: '설정', en: 'Settings' },
    load: () => import('../pages/settings/Page.svelte'),
    navigation: { icon: Settings, group: 'foot', key: ',' },
  },
  { path: 'go/:anything*', title: { ko: '찾아가기', en: 'Go to' }, load: () => import('../pages/go/Page.svelte') },
];

/** The route of a path and its parameters; null if there is none. */
export function match(segments: string[]): { route: Route; params: Record<string, string> } | null {
  for (const route of routes) {
    const pattern = route.path.split('/').filter(Boolean);
    const needed = pattern.filter((part) => !part.endsWith('?')).length;
    const open = pattern.at(-1)?.endsWith('*') ?? false;
    if (segments.length < needed || (segments.length > pattern.length && !open)) continue;
    const params: Record<string, string> = {};
    const fits = segments.every((segment, index) => {
      const part = pattern[Math.min(index, pattern.length - 1)]!;
      if (part.endsWith('*')) {
        const name = part.slice(1, -1);
        params[name] = params[name] === undefined ? segment : `${params[name]}/${segment}`;
        return true;
      }
      if (!part.startsWith(':')) return part === segment;
      params[part.slice(1).replace('?', '')] = segment;
      return true;
    });
    if (fits) return { route, params };
  }
  return null;
}
