import { words } from '../i18n/index.svelte';

export const w = words({
  giveAgain: { ko: '승인하고 다시 호출', en: 'Approve, and call again' },
  again: {
    ko: '승인하면 같은 인자로 호출을 다시 합니다.',
    en: 'If you approve, the call will be made again with the same arguments.',
  },
  twice: {
    ko: '이 도구는 반복해도 된다고 하지 않으므로, 첫 호출에 이미 효과가 있었다면 두 번 일어납니다.',
    en: 'The tool does not say that it may be repeated: if its first try has had an effect, that happens twice.',
  },
  noSecrets: {
    ko: '비밀번호나 키는 적지 마세요. MCP는 서버가 이런 양식으로 비밀을 묻는 것을 금지합니다.',
    en: 'Give no password or key: MCP forbids servers to ask for secrets in a form.',
  },
  trust: {
    ko: '주소는 서버가 정한 것입니다. 믿을 때만 열고, 거기서 끝낸 뒤 승인하세요.',
    en: 'The server chose the address: open it only if you trust it, and approve when you are done there.',
  },
  secretive: { ko: '비밀로 보입니다.', en: 'Looks like a secret.' },
  severalWithCommas: { ko: '여럿이면 쉼표로 나눕니다', en: 'Several with commas' },
  yes: { ko: '예', en: 'Yes' },
  no: { ko: '아니요', en: 'No' },
});
