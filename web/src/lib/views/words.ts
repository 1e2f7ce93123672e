import { dictionary, words, type Word } from '../i18n/index.svelte';
import { withParticle } from '../i18n/particles';

export const w = words({
  title: { ko: '저장한 보기', en: 'Saved views' },
  shared: {
    ko: '보기는 화면과 그 조건에 붙인 이름입니다. 이 페이지를 쓰는 모두가 함께 씁니다.',
    en: 'A view is a name for a page with its filters. All who use this page share them.',
  },
  name: { ko: '지금 보이는 조건의 이름', en: 'Name for the filters shown now' },
  save: { ko: '보기 저장', en: 'Save view' },
  replace: { ko: '보기 바꾸기', en: 'Replace view' },
  replaces: {
    ko: (name: string) => `“${name}” 보기가 이미 있습니다. 지금 보이는 조건으로 바뀝니다.`,
    en: (name: string) => `There is a view “${name}”. It will have the filters shown now.`,
  },
  saved: { ko: (name: string) => `“${name}” 저장함`, en: (name: string) => `Saved “${name}”` },
  removed: { ko: (name: string) => `“${name}” 지움`, en: (name: string) => `Deleted “${name}”` },
  undo: { ko: '되돌리기', en: 'Undo' },
  remove: { ko: (name: string) => `“${name}” 지우기`, en: (name: string) => `Delete “${name}”` },
  setAgain: {
    ko: (name: string) => `${withParticle(`“${name}”`, '을/를')} 지금 조건으로 바꾸기`,
    en: (name: string) => `Replace “${name}” by the filters shown now`,
  },
  find: { ko: '보기 찾기', en: 'Find a view' },
  none: { ko: '저장한 보기가 없습니다.', en: 'There are no views.' },
  noneFound: { ko: '찾은 것이 없습니다.', en: 'Nothing found.' },
  readOnly: {
    ko: '읽기 권한만 있는 세션은 보기를 저장하거나 지울 수 없습니다.',
    en: 'A session that may only read cannot save or delete views.',
  },
  off: { ko: '이 서버는 보기를 보관하지 않습니다.', en: 'This server keeps no views.' },
  full: {
    ko: (most: number) => `보기는 ${most}개까지입니다. 쓰지 않는 것을 지워 주세요.`,
    en: (most: number) => `There can be ${most} views. Delete one that is not used.`,
  },
  tooLong: {
    ko: '조건이 너무 길어 저장할 수 없습니다.',
    en: 'The filters are too long to be saved.',
  },
  noRoom: {
    ko: '보기와 SQL 질문을 둘 자리가 없습니다. 쓰지 않는 것을 지워 주세요.',
    en: 'There is no room left for views and SQL questions. Delete one that is not used.',
  },
  taken: {
    ko: (name: string) => `“${name}” 이름으로 방금 다른 사람이 보기를 저장했습니다.`,
    en: (name: string) => `Someone else saved a view under “${name}” just now.`,
  },
  gone: {
    ko: (name: string) => `“${name}” 보기를 방금 다른 사람이 지웠습니다.`,
    en: (name: string) => `Someone else deleted “${name}” just now.`,
  },
});

/** Names of the pages that have views. */
export const pageNames = dictionary<Record<string, Word>>({
  c: { ko: '대화', en: 'Conversations' },
  tasks: { ko: '작업', en: 'Tasks' },
  agents: { ko: '에이전트', en: 'Agents' },
  owed: { ko: '답장 대기', en: 'Owed' },
  log: { ko: '로그', en: 'Log' },
  search: { ko: '검색', en: 'Search' },
});
