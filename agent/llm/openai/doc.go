// Package openai asks models at an endpoint that speaks OpenAI's chat completions: OpenAI's own, Anthropic's and Google's compatible ones,
// OpenRouter, a server on this machine.
//
// The requests and the shape of the answers are those of go-openai. What lies between is this package's: it reads the stream itself, so
// that it is bounded, that errors within it are found however they are written, and that an answer which breaks off is told from one that
// ends. Providers differ in what they call the same failure; classify.go knows their words.
//
// The key is sent to the endpoint and shown to nobody: no error holds it, nor does a Provider that is printed. Redirections are not
// followed, so it goes nowhere else either.
package openai
