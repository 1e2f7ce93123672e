// Package prompt says what a model is told before it answers: who it is, the files of its workspace, what was said before, and the message.
//
// It promises
//   - that the same ask, files and day make the same bytes, so that providers can keep what they have read;
//   - that what is told fits: system prompt, tools and messages together are never more than the window leaves beside the answer, as
//     llm.EstimateTokens counts;
//   - that the newest message is always told, cut in its middle if it is too long by itself; that calls of tools keep their results; and that
//     what is left out of the history is left out at its beginning, up to a message of a user;
//   - that a file which is missing, or not what it should be, is no error: the Report says so. A large file is never read as a whole, and
//     nothing outside of the workspace is read.
//
// Files of a workspace are told as they stand there, secrets included: who writes a key into TOOLS.md gives it to the agent, and so to its
// model. In a transcript secrets are masked before they are stored, and so models do not read them there. Neither the Report nor the log
// says what is in a file.
package prompt
