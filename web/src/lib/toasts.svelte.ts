/** Short notices at the bottom. They stay while the pointer or the focus is on them. */
class Toasts {
  list: { id: number; text: string; tone: 'plain' | 'error' }[] = $state([]);
  held = $state(false);
  #next = 1;

  say(text: string, tone: 'plain' | 'error' = 'plain', ms = 4000): void {
    const id = this.#next++;
    this.list.push({ id, text, tone });
    const leave = () => {
      if (this.held) setTimeout(leave, 1000);
      else this.close(id);
    };
    setTimeout(leave, ms);
  }

  close(id: number): void {
    this.list = this.list.filter((toast) => toast.id !== id);
  }
}

export const toasts = new Toasts();
