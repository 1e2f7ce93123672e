/** The first query below each heading of docs/schema.md; scripts/queries.ts makes it. */
declare module 'virtual:queries' {
  const queries: Record<string, string>;
  export default queries;
}
