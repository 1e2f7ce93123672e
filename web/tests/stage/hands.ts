import { expect, type Locator, type Page } from '@playwright/test';

export type Device = 'laptop' | 'phone';

/** Sizes at which the questions of the specification are answered. */
const sizes = { laptop: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } };
export const devices: Device[] = ['laptop', 'phone'];

/** Pages that the bottom bar of a phone has; the others are in its More menu. */
const inBar = ['지금', '대화', '수신함', '답장 대기'];

/** Counts clicks and keys; words that are typed count once, and so does a shortcut of two letters. */
export class Hands {
  cost = 0;
  /** What the More menu of a phone costs beyond the target: the tap that opens it. */
  extra = 0;

  private constructor(
    readonly page: Page,
    readonly device: Device,
  ) {}

  /** Hands at a screen of the device's size. */
  static async at(page: Page, device: Device): Promise<Hands> {
    await page.setViewportSize(sizes[device]);
    return new Hands(page, device);
  }

  get phone(): boolean {
    return this.device === 'phone';
  }

  async press(key: string) {
    this.cost++;
    await this.page.keyboard.press(key);
  }

  async type(words: string) {
    this.cost++;
    await this.page.keyboard.type(words);
  }

  async click(locator: Locator) {
    this.cost++;
    await locator.click();
  }

  /** Opens a page by its name: the letter after g, or on a phone the bottom bar. */
  async open(name: string, letter: string) {
    if (!this.phone) {
      await this.page.keyboard.press('g');
      await this.press(letter);
      return;
    }
    const bar = this.page.getByRole('navigation').last();
    if (inBar.includes(name)) return this.click(bar.getByRole('link', { name }));
    this.extra = 1;
    await this.click(bar.getByRole('button', { name: '더보기' }));
    await this.click(this.page.getByRole('menuitem', { name, exact: true }));
  }

  /** Opens the palette, which has a button for screens without keys. */
  async palette() {
    if (this.phone) await this.click(this.page.getByRole('button', { name: /^찾기 또는 이동/ }));
    else await this.press('Control+k');
    await expect(this.page.getByRole('combobox')).toBeFocused();
  }
}
