// Package prompt builds what a model reads before it answers: the system prompt with the files of the agent's
// workspace, the history of the session, and the new message.
//
// It guarantees
//   - that the same Ask, files and day give the same bytes, so that providers can cache what they have read;
//   - that a prompt fits: system prompt, tools and messages together take at most what the window leaves beside the
//     answer, as counted by llm.EstimateTokens;
//   - that the newest message is always included, cut in its middle if it is too long by itself; that tool calls
//     keep their results; and that messages are dropped only from the beginning of the history, up to a message of
//     a user;
//   - that a missing or unusable file is not an error: the Report states it. A large file is never read as a whole,
//     and nothing outside the workspace is read.
//
// Files of a workspace are included unchanged, even secrets: a key in TOOLS.md reaches the agent, and so its model.
// In a transcript secrets are masked before they are stored, so models do not read them there. Neither the Report nor
// the log contains text of files.
package prompt
