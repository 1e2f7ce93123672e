import type { Schemas } from '$lib/api/client';
import { dictionary, type Word } from '$lib/i18n/index.svelte';

/** Why an agent handles a message, observes it or drops it. "이 에이전트" is the one that the reason stands beside. */
export const routingReasons: Record<Schemas['RoutingReason'], Word> = dictionary({
  mentioned: { ko: '메시지가 이 에이전트를 부릅니다.', en: 'The message mentions it.' },
  participant: { ko: '이 스레드에 참여하고 있습니다.', en: 'It takes part in the thread.' },
  binding: { ko: '이 채널을 맡도록 정해져 있습니다.', en: 'A binding gives it the messages of this channel.' },
  default_agent: {
    ko: '채널을 맡은 에이전트가 없어 기본 에이전트가 받습니다.',
    en: 'It is the default agent, and the channel is bound to no other.',
  },
  other_mentioned: {
    ko: '메시지가 다른 에이전트를 부릅니다.',
    en: 'The message mentions other agents.',
  },
  not_participant: {
    ko: '이 스레드에 참여하지 않습니다. 부르면 답합니다.',
    en: 'It does not take part in the thread; a mention would call it.',
  },
  mention_only: {
    ko: '로그보다 오래된 스레드라 참여자를 모릅니다. 부를 때만 답합니다.',
    en: 'The thread is older than the log and its participants are unknown: it answers only if mentioned.',
  },
  not_owner: {
    ko: '이 채널은 다른 에이전트가 답합니다. 부르면 답합니다.',
    en: 'Another agent answers in this channel; a mention would call this one.',
  },
  nobody_owns: { ko: '이 채널에 답하는 에이전트가 없습니다.', en: 'No agent answers in this channel.' },
  mention_required: {
    ko: '설정에 따라 부르지 않은 메시지에는 답하지 않습니다.',
    en: 'The configuration wants a mention (requireMention).',
  },
  sibling_message: {
    ko: '다른 에이전트가 채널에 쓴 글이고 아무도 부르지 않았습니다.',
    en: 'Another agent wrote it in a channel and mentions no agent.',
  },
  system_text: {
    ko: 'openclawd가 올린 글이라 부른 에이전트만 답합니다.',
    en: 'openclawd posted it, which calls only the agents that it mentions.',
  },
  thread_suspended: {
    ko: '봇끼리 되풀이되어 이 대화방을 멈췄습니다. 사람의 메시지에는 답합니다.',
    en: 'Bots repeated each other, so they call no agent here for a while. People do.',
  },
  pair_limited: {
    ko: '쓴 이와 짧은 시간에 너무 많이 주고받았습니다.',
    en: 'Its author and this agent exchanged too many messages in a short time.',
  },
  hop_limit: {
    ko: '에이전트끼리 너무 여러 번 이어 불렀습니다. 사람이 쓰면 다시 셉니다.',
    en: 'Agents called each other too often in a row; a message of a person resets the count.',
  },
  a2a_not_allowed: {
    ko: '쓴 에이전트는 정책상 이 에이전트를 부를 수 없습니다.',
    en: 'The policy does not let its author call this agent (tools.agentToAgent).',
  },
  author_missing: { ko: '서비스가 쓴 이를 알려 주지 않았습니다.', en: 'The service gave no author.' },
  channels_disabled: {
    ko: '채널 메시지를 받지 않는 설정입니다.',
    en: 'Messages in channels are turned off (groupPolicy).',
  },
  guild_not_allowed: { ko: '허용하지 않은 서버나 그룹입니다.', en: 'The server, group or workspace is not allowed.' },
  channel_not_allowed: { ko: '허용하지 않은 채널입니다.', en: 'The channel is not allowed.' },
  dm_disabled: { ko: '개인 메시지를 받지 않는 설정입니다.', en: 'Direct messages are turned off (dmPolicy).' },
  dm_not_allowed: {
    ko: '쓴 이는 개인 메시지를 보낼 수 없습니다 (allowFrom).',
    en: 'Its author may not send direct messages (allowFrom).',
  },
  dm_not_paired: {
    ko: 'dmPolicy가 pairing인데 쓴 이가 아직 승인되지 않았습니다.',
    en: 'dmPolicy is pairing, and its author is not approved yet.',
  },
  sink_thread: { ko: '보고만 올리는 스레드입니다.', en: 'The thread is for reports only.' },
  sink_post: { ko: '보고만 하는 봇이나 웹훅이 쓴 글입니다.', en: 'A bot or webhook that only reports wrote it.' },
  discord_notice: { ko: '서비스의 알림 메시지입니다.', en: 'It is a system message of the service.' },
  interaction: {
    ko: '명령이거나 양식에 쓴 답입니다. 그대로 처리했고 에이전트에게는 전하지 않았습니다.',
    en: 'It is a command or the answer to a form, which was carried out.',
  },
  continuation: {
    ko: '여러 메시지로 나뉜 글의 뒷부분입니다. 첫 메시지에서 정했습니다.',
    en: 'It continues a text of several messages; the first one was decided.',
  },
  empty: {
    ko: '글도 첨부도 없거나 봇이 읽을 수 없습니다.',
    en: 'It has no text and no attachment, or the bot may not read it.',
  },
  foreign_bot: {
    ko: '우리 에이전트가 아닌 봇이 쓴 글입니다 (allowBots).',
    en: 'A bot of no agent here wrote it (allowBots).',
  },
  author_not_allowed: {
    ko: '쓴 이나 그 역할이 허용 목록에 없습니다.',
    en: 'Neither its author nor a role of the author is allowed.',
  },
  own_message: { ko: '이 에이전트가 쓴 글입니다.', en: 'It wrote the message itself.' },
  no_bot: { ko: '이 메시지를 볼 수 있는 봇이 없습니다.', en: 'No bot of an agent sees it.' },
  internal_error: {
    ko: '결정하다가 오류가 났습니다. 서버 로그를 보세요.',
    en: "The decision failed; see the server's log.",
  },
  bot_rate: { ko: '봇들의 메시지가 한꺼번에 너무 많았습니다.', en: 'Bots sent too many messages in a short time.' },
  bot_turns: { ko: '봇들의 메시지가 너무 오래 이어졌습니다.', en: 'Bots sent too many messages in a row.' },
  collaborate: { ko: '협업 요청으로 참여했습니다.', en: 'It joined by a request for collaboration.' },
  posted: { ko: '글을 올려서 참여했습니다.', en: 'It joined by posting here.' },
});

/** What went wrong with a message. */
export const routingWarnings: Record<Schemas['RoutingWarning'], Word> = dictionary({
  mentioned_absent: {
    ko: '불린 에이전트의 봇이 이 메시지를 보지 못합니다.',
    en: 'An agent is mentioned whose bot does not see the message.',
  },
  participants_unknown: {
    ko: '스레드의 참여자를 몰라 부른 에이전트만 답합니다.',
    en: 'The participants of the thread are unknown, so only mentioned agents answer.',
  },
  nobody_owns: { ko: '이 채널에 답하는 에이전트가 없습니다.', en: 'No agent answers in this channel.' },
  run_refused: {
    ko: '줄이 찼거나 세션이 닫혀서 답할 실행이 거절되었습니다.',
    en: 'The run was refused: the queue was full, or the session was closed.',
  },
  run_failed: { ko: '답하던 실행이 실패했습니다.', en: 'The run that was to answer failed.' },
  reply_unposted: { ko: '답은 나왔지만 아직 올리지 못했습니다.', en: 'The answer is not posted.' },
  no_reply: { ko: '실행이 올릴 글 없이 끝났습니다.', en: 'The run ended without a text to post.' },
});
