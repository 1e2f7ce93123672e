/**
 * The agent to write to after an exchange without an answer, as the advice about its reason says: the one that should have answered where its
 * session has to be cleared, else the one that asked, which can ask again.
 */
export const toTell = (code: string | null | undefined, asker: string, answerer: string | undefined): string =>
  code === 'context_too_long' && answerer ? answerer : asker;
