import type { Schemas } from '$lib/api/client';
import { dictionary, type Word } from '$lib/i18n/index.svelte';

/**
 * What would have let an agent answer. `mention`: a mention of the agent. In words, {channel} is the
 * channel's name, and {places} the setting of its servers, groups or channels. Null: nothing that a person should change.
 */
export type Otherwise = { mention?: true; word?: Word; at?: 'policy' | 'config' } | null;

const config = (ko: string, en: string): Otherwise => ({ word: { ko, en }, at: 'config' });

/** For each reason: the compiler wants all of them. */
export const otherwise: Record<Schemas['RoutingReason'], Otherwise> = dictionary({
  mentioned: null,
  participant: null,
  binding: null,
  default_agent: null,
  other_mentioned: { mention: true },
  not_participant: { mention: true },
  mention_only: { mention: true },
  not_owner: { mention: true },
  nobody_owns: config(
    '기본 에이전트의 봇을 이 채널에 초대하거나, 채널에 있는 에이전트를 bindings에 넣으세요.',
    'Invite the bot of the default agent to the channel, or bind an agent that is there (bindings).',
  ),
  mention_required: {
    mention: true,
    word: {
      ko: '부르지 않아도 답하게 하려면 channels.{channel}.requireMention을 끄세요.',
      en: 'To answer without mentions, turn channels.{channel}.requireMention off.',
    },
    at: 'config',
  },
  sibling_message: { mention: true },
  system_text: null,
  thread_suspended: {
    word: {
      ko: '사람이 쓰면 답합니다. 멈춤은 저절로 끝납니다.',
      en: 'A message of a person is answered. The suspension ends by itself.',
    },
  },
  pair_limited: {
    word: { ko: '잠시 뒤에 다시 주고받을 수 있습니다.', en: 'After a while the two can exchange messages again.' },
  },
  hop_limit: {
    word: { ko: '사람이 스레드에 쓰면 다시 셉니다.', en: 'A message of a person in the thread resets the count.' },
  },
  a2a_not_allowed: {
    word: { ko: 'tools.agentToAgent에서 두 에이전트를 허용하세요.', en: 'Allow the two agents in tools.agentToAgent.' },
    at: 'policy',
  },
  author_missing: null,
  channels_disabled: config(
    'channels.{channel}.groupPolicy를 open이나 allowlist로 바꾸세요.',
    'Set channels.{channel}.groupPolicy to open or allowlist.',
  ),
  guild_not_allowed: config(
    '{places}나 collaboration.allowedGuilds에 서버를 넣으세요.',
    'Add the server to {places} or collaboration.allowedGuilds.',
  ),
  channel_not_allowed: config(
    '{places}나 collaboration.allowedChannels에 채널을 넣으세요.',
    'Add the channel to {places} or collaboration.allowedChannels.',
  ),
  dm_disabled: config(
    'channels.{channel}.dmPolicy를 allowlist로 바꾸세요.',
    'Set channels.{channel}.dmPolicy to allowlist.',
  ),
  dm_not_allowed: config(
    '쓴 이를 channels.{channel}.allowFrom에 넣으세요.',
    'Add the author to channels.{channel}.allowFrom.',
  ),
  dm_not_paired: config(
    'openclawd pairing approve로 쓴 이를 승인하세요.',
    'Approve the author: openclawd pairing approve.',
  ),
  sink_thread: null,
  sink_post: null,
  discord_notice: null,
  interaction: null,
  continuation: null,
  empty: config(
    '봇에게 메시지 내용을 읽는 권한(Message Content Intent)이 있는지 확인하세요.',
    'Check that the bot may read the content of messages (Message Content Intent).',
  ),
  foreign_bot: config(
    '다른 봇에게도 답하려면 channels.{channel}.allowBots를 켜세요.',
    'To answer other bots, turn channels.{channel}.allowBots on.',
  ),
  author_not_allowed: config(
    '쓴 이나 그 역할을 {places}의 허용 목록에 넣으세요.',
    'Add the author or a role of the author to the users of {places}.',
  ),
  own_message: null,
  no_bot: config('에이전트의 봇을 이 채널에 초대하세요.', 'Invite the bot of an agent to the channel.'),
  internal_error: null,
  bot_rate: null,
  bot_turns: null,
  collaborate: null,
  posted: null,
});
