// Package llm says what is asked of a language model, and what comes back. Providers of models are below it: openai asks an endpoint,
// scripted answers by a script. Package catalogue chooses among them by what is configured.
//
// A Provider promises
//   - to stream what it tells in the order in which the model says it, on the goroutine of the caller; what was streamed before an error
//     is in the caller's hands already, and is not told again;
//   - to give either a whole Answer or an error, never half an answer;
//   - to end soon after its context does, with that context's error, and to leave nothing running;
//   - that its other errors are *Error, and hold no secret;
//   - to take bounded memory, whatever an endpoint sends.
//
// It does not promise that a model is asked only once: whoever asks again does so with the same IdempotencyKey. It never asks again by
// itself, and never asks another model; Retryable says whether to ask again may help.
package llm
