package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/agent/llm"
)

// refusal is the error for a status other than success.
func (c *call) refusal(response *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(readerFunc(c.read), maxErrorBody)) // the status is sufficient if the body fails
	said := providerError{status: response.StatusCode}
	said.read(text)
	message := said.message
	if response.StatusCode < 400 {
		message = "the endpoint redirects, which is not followed; check the base URL"
	}
	refused := c.p.fail(said.class(), c.model, cmp.Or(message, http.StatusText(response.StatusCode)))
	refused.Status = response.StatusCode
	refused.RetryAfter = retryAfter(response.Header, c.p.o.Now())
	return refused
}

// refusalIn returns the error contained in a value sent with success, or nil.
func (c *call) refusalIn(value []byte) error {
	var said providerError
	if !said.readError(value) {
		return nil
	}
	refused := c.p.fail(said.class(), c.model, cmp.Or(said.message, "the provider aborted the answer"))
	refused.Status = said.status
	return refused
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// providerError is a provider's description of a failure.
type providerError struct {
	status  int      // 0 if unknown
	codes   []string // the provider's codes, in lower case
	message string
}

// read parses the body of an error. Anything but JSON is a message, unless it is an HTML page.
func (s *providerError) read(text []byte) {
	text = bytes.TrimSpace(text)
	if s.readError(text) {
		return
	}
	var other struct {
		Message string          `json:"message"`
		Type    string          `json:"type"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(text, &other) == nil {
		s.code(other.Type)
		s.message = cmp.Or(other.Message, textOf(other.Detail), string(text))
	} else if len(text) > 0 && text[0] != '<' {
		s.message = string(text)
	}
}

// readError finds the error in a JSON value: an object, a text, or the value itself if it says so.
func (s *providerError) readError(value []byte) bool {
	var list []json.RawMessage
	if len(value) > 0 && value[0] == '[' && json.Unmarshal(value, &list) == nil && len(list) > 0 {
		value = list[0]
	}
	var outer struct {
		Error  json.RawMessage `json:"error"`
		Object string          `json:"object"`
	}
	if json.Unmarshal(value, &outer) != nil {
		return false
	}
	inner := outer.Error
	if outer.Object == "error" && len(inner) == 0 {
		inner = value
	}
	switch string(bytes.TrimSpace(inner)) {
	case "", "null", "false", `""`, "{}":
		return false
	}
	var e struct {
		Message  json.RawMessage `json:"message"`
		Code     json.RawMessage `json:"code"`
		Type     json.RawMessage `json:"type"`
		Status   json.RawMessage `json:"status"`
		Metadata struct {
			Raw json.RawMessage `json:"raw"`
		} `json:"metadata"`
	}
	if json.Unmarshal(inner, &e) != nil {
		s.message = textOf(inner)
		return true
	}
	for _, code := range []json.RawMessage{e.Code, e.Type, e.Status} {
		s.code(textOf(code))
	}
	s.message = textOf(e.Message)
	if raw := textOf(e.Metadata.Raw); raw != "" { // message of an upstream provider
		s.message = strings.TrimSpace(s.message + ": " + raw)
	}
	return true
}

// code records an error code. A number is used as the status if there is no other.
func (s *providerError) code(name string) {
	if n, err := strconv.Atoi(name); err == nil {
		if s.status == 0 && n >= 400 && n < 600 {
			s.status = n
		}
		return
	}
	if name != "" {
		s.codes = append(s.codes, strings.ToLower(name))
	}
}

// textOf decodes a JSON text; any other value is returned as written.
func textOf(raw json.RawMessage) string {
	var s string
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return ""
	case json.Unmarshal(raw, &s) == nil:
		return s
	}
	return string(raw)
}

// class is determined by the message where codes mislead, else by the first known code, else by the status, else by
// the message.
func (s *providerError) class() llm.Class {
	message := strings.ToLower(s.message)
	if s.status == http.StatusRequestEntityTooLarge || containsAny(message, tooLongAtOnce()) {
		return llm.ContextExceeded // a per-minute token limit exceeded by one request: waiting does not help
	}
	for _, code := range s.codes {
		if class := classOfCode(code); class != "" {
			return class
		}
	}
	if class := classOfStatus(s.status); class != llm.Rejected && class != llm.Unavailable || s.status == http.StatusNotFound {
		return class
	}
	switch {
	case containsAny(message, tooLong()):
		return llm.ContextExceeded
	case s.status < http.StatusInternalServerError && containsAny(message, unpaid()):
		return llm.Auth
	}
	return s.fallback()
}

func (s *providerError) fallback() llm.Class {
	for _, code := range s.codes {
		switch code {
		case "invalid_request_error", "invalid_argument", "badrequesterror", "bad_request":
			return llm.Rejected
		}
	}
	return classOfStatus(s.status)
}

// classOfCode maps providers' error codes; "" for unknown ones and those less specific than the status, such as
// api_error, which some servers use for everything. Missing credit is classified as authorization: waiting does not
// help.
func classOfCode(code string) llm.Class {
	switch code {
	case "context_length_exceeded", "exceed_context_size_error", "request_too_large", "context_window_exceeded", "model_context_window_exceeded",
		"string_above_max_length":
		return llm.ContextExceeded
	case "insufficient_quota", "exceeded_current_quota_error", "billing_hard_limit_reached", "billing_not_active", "billing_error", "insufficient_balance", "payment_required",
		"invalid_api_key", "incorrect_api_key", "authentication_error", "invalid_authentication", "invalid_authentication_error",
		"permission_error", "permission_denied", "unauthenticated", "account_deactivated":
		return llm.Auth
	case "rate_limit_exceeded", "rate_limit_error", "rate_limit_reached", "resource_exhausted", "too_many_requests", "throttlingexception":
		return llm.RateLimited
	case "overloaded_error", "overloaded", "server_overloaded", "engine_overloaded", "engine_overloaded_error", "slow_down", "service_unavailable":
		return llm.Overloaded
	case "timeout_error", "deadline_exceeded", "request_timeout":
		return llm.Timeout
	case "model_not_found", "not_found_error", "content_filter", "content_policy_violation", "unsupported_value", "unsupported_parameter":
		return llm.Rejected
	}
	return ""
}

func classOfStatus(status int) llm.Class {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusPaymentRequired:
		return llm.Auth
	case http.StatusRequestTimeout, http.StatusGatewayTimeout, 524:
		return llm.Timeout
	case http.StatusConflict, http.StatusTooEarly: // an earlier attempt with the same key is still in progress
		return llm.Unavailable
	case http.StatusRequestEntityTooLarge:
		return llm.ContextExceeded
	case http.StatusTooManyRequests:
		return llm.RateLimited
	case http.StatusServiceUnavailable, 529:
		return llm.Overloaded
	}
	if status >= 500 || status == 0 {
		return llm.Unavailable
	}
	return llm.Rejected
}

// Phrases of providers' messages, in lower case, for failures that few of them have a code for.

// tooLong are phrases for a request that exceeds the context window.
func tooLong() []string {
	return []string{
		"maximum context length",                                    // OpenAI, vLLM, OpenRouter, DeepSeek, Mistral
		"max context length",                                        // Ollama
		"model's context length",                                    // SGLang, LM Studio
		"exceeds the context length",                                // Ollama
		"greater than the context length", "context length of only", // LM Studio
		"context window",                             // OpenAI's newer models, Ollama
		"exceed context limit",                       // Anthropic, if there is no room for the answer either
		"available context size",                     // llama.cpp
		"maximum model length",                       // vLLM
		"prompt is too long",                         // Anthropic
		"prompt too long",                            // Ollama
		"input is too long",                          // Bedrock
		"too many tokens",                            // Cohere
		"exceeds max length",                         // GLM
		"input token count",                          // Google
		"prompt token count",                         // Copilot
		"`inputs` tokens", "`inputs` must have less", // TGI, Together
		"allowed input length",       // Poolside
		"max_seq_len",                // Atlas
		"maximum prompt length",      // xAI
		"range of input length",      // DashScope
		"reduce the length of the",   // Groq, vLLM
		"exceeded model token limit", // Kimi
	}
}

// tooLongAtOnce are phrases for a request that exceeds a per-minute token limit. OpenAI and Groq report it as a rate
// limit.
func tooLongAtOnce() []string {
	return []string{"request too large for", "tokens must be reduced in order to run"}
}

// unpaid are phrases for a wrong key or missing credit, of providers that report both as invalid requests.
func unpaid() []string {
	return []string{"api key not valid", "incorrect api key", "invalid api key", "credit balance is too low"} // Google, xAI, Anthropic
}

// containsAny reports whether a text contains one of the phrases.
func containsAny(text string, all []string) bool {
	return slices.ContainsFunc(all, func(words string) bool { return strings.Contains(text, words) })
}

// maxRetryAfter is the maximum accepted delay.
const maxRetryAfter = 24 * time.Hour

// retryAfter is the delay requested by a provider: in milliseconds, in seconds, or until a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, ok := number(h.Get("Retry-After-Ms")); ok {
		return bounded(ms * float64(time.Millisecond))
	}
	value := h.Get("Retry-After")
	if s, ok := number(value); ok {
		return bounded(s * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return bounded(float64(at.Sub(now)))
	}
	return 0
}

func number(s string) (float64, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return n, err == nil && !math.IsNaN(n)
}

func bounded(d float64) time.Duration { return time.Duration(min(max(d, 0), float64(maxRetryAfter))) }
