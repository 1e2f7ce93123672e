/** Problems on a page. */
export const perPage = 100;

/** How many problems the API leaves out at most; the rest of more is reached by kind. */
export const mostSkipped = 10_000;

/** How many problems come before the page that an address names: whole pages. */
export function skippedBy(from: string | undefined): number {
  const asked = Number(from ?? 0);
  if (!Number.isFinite(asked) || asked <= 0) return 0;
  return Math.min(Math.floor(asked / perPage) * perPage, mostSkipped);
}
