import type { Schemas } from '../api/client';
import { dictionary, type Word } from './index.svelte';

const wait: Word = { ko: '끝날 때까지 기다리세요.', en: 'Wait until it is done.' };
const disk: Word = {
  ko: '디스크의 공간과 권한, 서버의 로그를 확인하세요.',
  en: "Check the space and the permissions of the disk, and the server's log.",
};

/** What to do about a reason of /readyz. */
export const healthSteps: Record<Schemas['HealthCode'], Word> = dictionary({
  database_failing: disk,
  database_lost: {
    ko: '서버를 멈추고 데이터베이스 파일을 되돌리거나 백업에서 복원하세요.',
    en: 'Stop the server, and put the database file back or restore a backup.',
  },
  database_linked: {
    ko: '파일의 다른 이름을 지우세요. 두 이름으로 쓰면 데이터베이스가 깨질 수 있습니다.',
    en: 'Remove the other name of the file: writing under two names can damage the database.',
  },
  io_error: disk,
  database_stalled: {
    ko: '디스크가 응답하는지 확인하고, 계속되면 서버를 다시 시작하세요.',
    en: 'Check that the disk responds; if it goes on, restart the server.',
  },
  database_unreadable: {
    ko: '디스크와 권한을 확인하고, 계속되면 백업에서 복원하세요.',
    en: 'Check the disk and the permissions; if it goes on, restore a backup.',
  },
  disk_low: { ko: '디스크에 공간을 만드세요.', en: 'Free some space on the disk.' },
  projection_parked: {
    ko: '서버를 멈추고 openclawd projections resume을 실행하고, 오류를 알려 주세요.',
    en: 'Stop the server, run openclawd projections resume, and report the error.',
  },
  projection_rebuilding: wait,
  importing: wait,
  log_unreadable: {
    ko: '따라가는 파일이 있는지와 읽을 권한이 있는지 확인하세요.',
    en: 'Check that the followed file exists and can be read.',
  },
  log_behind: {
    ko: '곧 따라잡습니다. 계속되면 서버의 로그를 보세요.',
    en: "It catches up by itself; if it does not, look at the server's log.",
  },
  mirror_failing: disk,
  two_producers: {
    ko: '두 프로그램 가운데 하나를 멈추세요.',
    en: 'Stop one of the two programs.',
  },
  config_invalid: {
    ko: 'openclawd config check로 잘못된 곳을 찾아 고치세요.',
    en: 'Find the fault with openclawd config check, and correct it.',
  },
  overrides_differ: {
    ko: '파일과 덮어쓴 값 가운데 맞는 쪽으로 맞추세요.',
    en: 'Decide which of the two is right, and make the other equal.',
  },
  search_behind: wait,
  search_failing: disk,
  backup_failed: {
    ko: '백업할 곳에 공간과 쓸 권한이 있는지 확인하세요. 다시 시도합니다.',
    en: 'Check that the place of the backups has space and can be written. It is tried again.',
  },
  backup_overdue: {
    ko: 'openclawd backup create를 실행하고 서버의 로그에서 이유를 보세요.',
    en: "Run openclawd backup create, and look for the reason in the server's log.",
  },
  task_files_failing: {
    ko: '작업 공간에 공간과 쓸 권한이 있는지 확인하세요. 계속 다시 씁니다.',
    en: 'Check that the workspaces have space and can be written. Writing is retried.',
  },
  task_files_edited: {
    ko: '고치려던 것을 도구로 고친 뒤, 따로 둔 사본을 지우세요.',
    en: 'Make the wanted changes with tools, then remove the saved copies.',
  },
  task_files_refused: {
    ko: '에이전트마다 작업 공간을 따로 두세요. 데이터베이스와 백업이 있는 곳은 안 됩니다.',
    en: 'Give each agent a workspace of its own, away from the database and its backups.',
  },
  gateway_ended: {
    ko: 'openclawd를 다시 시작하고, 오류를 알려 주세요.',
    en: 'Restart openclawd, and report the error.',
  },
  work_dead: {
    ko: '아직 필요하면 다시 보내고, 아니면 버리세요.',
    en: 'Send it again if it is still needed, or discard it.',
  },
  work_stuck: {
    ko: 'openclawd를 다시 시작하고, 로그의 내용을 알려 주세요.',
    en: 'Restart openclawd, and report what its log says.',
  },
  work_unknown: {
    ko: '그것을 만든 버전을 실행하거나, 버리세요.',
    en: 'Run the version that created it, or discard it.',
  },
  worker_missing: {
    ko: '그 기기에서 openclawd worker를 실행하세요. openclawd worker list가 연결된 작업자를 보여 줍니다.',
    en: 'Start openclawd worker on that machine. openclawd worker list shows those that are connected.',
  },
  discord_bot_offline: {
    ko: '봇의 토큰과 네트워크를 확인하세요. 다시 연결하는 중입니다.',
    en: 'Check the token of the bot and the network. It keeps trying to connect.',
  },
  discord_bot_limited: {
    ko: '제한이 풀리면 이어서 합니다.',
    en: 'It goes on when the limit is over.',
  },
  discord_undelivered: {
    ko: '글이 이미 있는지 보고, 없으면 다시 보내고 아니면 버리세요.',
    en: 'See whether the post is there; if not, send it again, else discard it.',
  },
  channel_bot_offline: {
    ko: '봇의 토큰과 네트워크를 확인하세요. 다시 연결하는 중입니다.',
    en: 'Check the token of the bot and the network. It keeps trying to connect.',
  },
  channel_bot_limited: {
    ko: 'openclawd config check --online이 모자란 권한과 고치는 방법을 보여 줍니다.',
    en: 'openclawd config check --online shows which right is missing and how to give it.',
  },
  channel_undelivered: {
    ko: '글이 이미 있는지 보고, 없으면 다시 보내고 아니면 버리세요.',
    en: 'See whether the post is there; if not, send it again, else discard it.',
  },
  redaction_failing: {
    ko: '다시 시도합니다. 계속되면 서버의 로그를 보세요.',
    en: "It is tried again; if it goes on, look at the server's log.",
  },
  chain_broken: {
    ko: 'openclawd verify로 자세히 보고, 이전 백업을 복원하거나 빠진 보관 파일을 되돌리세요.',
    en: 'Look at it with openclawd verify; restore an earlier backup, or put the missing archive back.',
  },
  chain_overdue: {
    ko: 'openclawd verify --chain을 실행하고 서버의 로그에서 이유를 보세요.',
    en: "Run openclawd verify --chain, and look for the reason in the server's log.",
  },
  shared_unavailable: {
    ko: '함께 쓰는 로그의 서버를 확인하세요. 읽기는 계속됩니다.',
    en: 'Look at the servers of the shared log. Reads go on meanwhile.',
  },
  node_behind: wait,
  node_out: {
    ko: '그 노드의 데이터베이스를 따로 두고, 함께 쓰는 로그나 다른 노드의 백업으로 새로 채우세요.',
    en: 'Keep a copy of its database, then fill a new one from the shared log or the backup of another node.',
  },
});
