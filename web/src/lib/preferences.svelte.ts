import { locale } from './i18n/index.svelte';
import { singleKeys } from './keys';

export type Density = 'normal' | 'dense';

const browserZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Settings of this browser beside language and theme. */
class Preferences {
  density: Density = $state('normal');
  /** Single-key shortcuts. */
  keys = $state(true);
  /** Zone of shown times; empty: the browser's. */
  zone = $state('');

  start(): void {
    this.setDensity(localStorage.getItem('density') === 'dense' ? 'dense' : 'normal');
    this.keys = singleKeys.on;
    const zone = localStorage.getItem('zone') ?? '';
    this.setZone(isZone(zone) ? zone : '');
  }

  setDensity(density: Density): void {
    this.density = density;
    if (density === 'dense') document.documentElement.dataset.density = density;
    else delete document.documentElement.dataset.density;
    localStorage.setItem('density', density);
  }

  setKeys(on: boolean): void {
    this.keys = singleKeys.on = on;
  }

  setZone(zone: string): void {
    this.zone = zone;
    locale.zone = zone || browserZone();
    if (zone === '') localStorage.removeItem('zone');
    else localStorage.setItem('zone', zone);
  }
}

/** Zones to choose from, without the browser's own. */
export const zones = (): string[] => ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')];

function isZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return zone !== '';
  } catch {
    return false;
  }
}

export const preferences = new Preferences();
