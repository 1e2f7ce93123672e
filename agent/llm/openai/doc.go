// Package openai calls models at endpoints with OpenAI's chat completions API: OpenAI's own, the compatible ones of
// Anthropic and Google, OpenRouter, or a local server.
//
// Requests and answers use go-openai's types. This package sends requests and reads the stream itself, so that a stream
// is bounded, errors within it are detected in any form, and a broken answer is distinguished from a complete one.
// Providers report the same failure differently; classify.go has their phrases.
//
// The key is sent only to the endpoint: no error and no printed Provider contains it, and redirects are not followed.
package openai
