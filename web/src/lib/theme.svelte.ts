export type Choice = 'auto' | 'light' | 'dark';

class Theme {
  choice: Choice = $state('auto');

  start(): void {
    const saved = localStorage.getItem('theme');
    this.set(saved === 'light' || saved === 'dark' ? saved : 'auto');
  }

  set(choice: Choice): void {
    this.choice = choice;
    localStorage.setItem('theme', choice);
    if (choice === 'auto') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = choice;
  }

  next(): void {
    this.set(({ auto: 'light', light: 'dark', dark: 'auto' } as const)[this.choice]);
  }
}

export const theme = new Theme();
