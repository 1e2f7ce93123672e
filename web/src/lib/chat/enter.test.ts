import { describe, expect, it } from 'vitest';
import { EnterKey, type Press } from './enter';

const key = (at: number, change: Partial<Press> = {}): Press => ({
  enter: true,
  modified: false,
  composing: false,
  taken: false,
  at,
  ...change,
});

describe('Enter', () => {
  it('sends, and makes a line with Shift', () => {
    const enter = new EnterKey();
    expect(enter.down(key(0), false)).toBe('send');
    expect(enter.down(key(1000, { modified: true }), false)).toBe('pass');
    expect(enter.down(key(2000, { enter: false }), false)).toBe('pass');
  });

  it('sends once after Hangul, also where the key comes a second time', () => {
    const enter = new EnterKey();
    expect(enter.down(key(0, { composing: true, taken: true }), false)).toBe('pass');
    expect(enter.ended('요', 5)).toBe(true);
    expect(enter.down(key(20), true)).toBe('swallow');
    expect(enter.swallows(true, 21)).toBe(true);
    // The next message is a message of its own.
    expect(enter.down(key(500, { composing: true, taken: true }), false)).toBe('pass');
    expect(enter.ended('네', 501)).toBe(true);
  });

  it('sends a text that was typed within the same moment', () => {
    const enter = new EnterKey();
    enter.down(key(0, { composing: true }), false);
    expect(enter.ended('안', 1)).toBe(true);
    expect(enter.down(key(60), false)).toBe('send');
    expect(enter.swallows(false, 61)).toBe(false);
  });

  it('only confirms a candidate of another IME', () => {
    const enter = new EnterKey();
    expect(enter.down(key(0, { composing: true, taken: true }), false)).toBe('pass');
    expect(enter.ended('日本', 5)).toBe(false);
    expect(enter.swallows(true, 6)).toBe(false);
    expect(enter.down(key(400), false)).toBe('send');
  });

  it('forgets an Enter after which the composition goes on', () => {
    const enter = new EnterKey();
    enter.down(key(0, { composing: true }), false);
    enter.down(key(100, { enter: false, composing: true }), false);
    expect(enter.ended('하', 200)).toBe(false);
  });

  it('does not send when a composition ends by itself', () => {
    const enter = new EnterKey();
    expect(enter.ended('하', 0)).toBe(false);
    // A click has ended it; Enter comes later.
    expect(enter.down(key(900), false)).toBe('send');
  });

  it('knows browsers that end the composition first', () => {
    const enter = new EnterKey();
    enter.ended('요', 0);
    expect(enter.down(key(4, { taken: true }), false)).toBe('send');
    enter.ended('日本', 1000);
    expect(enter.down(key(1004, { taken: true }), false)).toBe('swallow');
    enter.ended('요', 2000);
    expect(enter.down(key(2500, { taken: true }), false)).toBe('swallow');
  });
});
