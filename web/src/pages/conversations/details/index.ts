/** What is beside or instead of a conversation's messages. It is loaded after them. */
export { default as Events } from './Events.svelte';
export { default as Inspector } from './Inspector.svelte';
export { default as Raw } from './Raw.svelte';
export { default as Parts } from './Parts.svelte';
