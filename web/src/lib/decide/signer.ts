import { agents } from '../agents.svelte';
import { t } from '../i18n/index.svelte';
import { w } from './words';

/** What the API records for those who sign with no name. */
const unnamed = 'api';

/** Who decided, in words of the reader. */
export const signer = (by: string): string => (by === unnamed ? t(w.unnamed) : by ? agents.nameOf(by) : t(w.someone));
