import type { Schemas } from '$lib/api/client';
import { dictionary, type Word } from '$lib/i18n/index.svelte';

/** What a probe of a sandbox tries to reach. */
export const sandboxChecks: Record<Schemas['SandboxCheck'], Word> = dictionary({
  read_outside: { ko: '밖의 파일 읽기', en: 'reading files outside' },
  write_outside: { ko: '밖의 파일 쓰기', en: 'writing files outside' },
  protected_files: { ko: 'openclawd의 파일', en: 'files of openclawd' },
  network: { ko: '네트워크', en: 'the network' },
  sockets: { ko: '이 기계의 프로그램', en: 'programs of this machine' },
  processes: { ko: '다른 프로세스', en: 'other processes' },
  environment: { ko: '환경 변수', en: 'the environment' },
  mounts: { ko: '마운트', en: 'mounts' },
  workspace: { ko: '작업 공간', en: 'the workspace' },
});
