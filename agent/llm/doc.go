// Package llm defines requests to language models and their answers. The providers are below it: openai calls an
// endpoint, scripted answers by a script. Package catalogue selects among them by configuration.
//
// A Provider guarantees
//   - that it streams in the model's order, on the caller's goroutine; parts streamed before an error are not repeated;
//   - that it returns either a complete Answer or an error;
//   - that it ends soon after its context, with that context's error, and leaves nothing running;
//   - that its other errors are *Error and contain no secret;
//   - that its memory is bounded, whatever an endpoint sends.
//
// It may call a model more than once for one step: a caller that retries uses the same IdempotencyKey. It never
// retries on its own or switches models; Retryable says whether retrying may help.
package llm
