import { matches } from '$lib/choseong';
import { t } from '$lib/i18n/index.svelte';
import { claimed } from '$lib/keys';
import { w } from './words';

/** What can be done with what is open, by its key. */
const actions = [
  ['a', w.actApprove],
  ['x', w.actReject],
  ['u', w.actUndo],
  ['e', w.actResend],
  ['m', w.actMessage],
  ['f', w.actFlow],
  ['w', w.keyWhy],
  ['Shift-V', w.actTable],
  ['d', w.keyLifecycle],
  ['l', w.keyPause],
  ['r', w.actRaw],
  ['y', w.actLink],
  ['Shift-Y', w.actId],
  ['t', w.keyTime],
  ['?', w.keyHelp],
] as const;

/** Actions of the page whose names contain what was typed. */
export function actionsFor(typed: string) {
  return actions.flatMap(([key, title]) => {
    const run = claimed(key);
    if (!run || !(matches(title.ko, typed) || matches(title.en, typed))) return [];
    return [{ key, title: t(title), note: key.replace('-', ' '), run }];
  });
}
