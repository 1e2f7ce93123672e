package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections/work"
)

// How often and how long a webhook is called. The lease is longer, so that what takes too long is told as such.
const (
	hookAttempts = 8
	hookTime     = 10 * time.Second
	hookLease    = 30 * time.Second

	maxAnswer = 64 << 10       // bytes of an answer that are read; nothing of it is kept
	maxAfter  = 24 * time.Hour // the longest wait that is believed
)

// idempotencyKey is the header that tells a repetition: a webhook may be called again with what it was called with.
const idempotencyKey = "Idempotency-Key"

// Webhook is the handler of WebhookKind. conf is the configuration in force, which has the address of the sink: addresses hold secrets, and stay out
// of the log.
//
// It posts JSON to the sink's url, with its token as a bearer, and takes any 2xx as success. The address has https, or is of this machine; it is not
// followed to another one. 408, 425, 429, 5xx and no answer are tried again, everything else is given up at once.
func Webhook(client *http.Client, conf func() *config.Config, now func() time.Time) worker.Handler {
	h := &hook{client: *client, conf: conf, now: now}
	h.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return worker.Task(worker.Policy{MaxAttempts: hookAttempts, Timeout: hookLease},
		func(ctx context.Context, item work.Item, what *coordination.WorkScheduled) (json.RawMessage, error) {
			return h.do(ctx, item.EffectID, what.Payload)
		})
}

type hook struct {
	client http.Client
	conf   func() *config.Config
	now    func() time.Time
}

// hookResult is what the log keeps of a call.
type hookResult struct {
	Status int `json:"status"`
}

func (h *hook) do(ctx context.Context, effectID string, payload json.RawMessage) (json.RawMessage, error) {
	var c call
	if err := json.Unmarshal(payload, &c); err != nil {
		return nil, worker.Permanent(fmt.Errorf("read what a webhook is told: %w", err))
	}
	s := sinkOf(h.conf(), c.SinkID)
	if s == nil {
		return nil, worker.Permanent(&hookError{text: fmt.Sprintf("the sink %q is not configured any more: enable it in gateway.conversationSinks", c.SinkID)})
	}
	address, err := addressOf(s.Webhook.URL)
	if err != nil {
		return nil, worker.Permanent(err)
	}
	body, err := json.Marshal(c.Event)
	if err != nil {
		return nil, worker.Permanent(fmt.Errorf("write what a webhook is told: %w", err))
	}
	ctx, stop := context.WithTimeout(ctx, hookTime)
	defer stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, worker.Permanent(badAddress("it is no address"))
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "openclawd")
	request.Header.Set(idempotencyKey, effectID)
	if s.Webhook.Token != "" {
		request.Header.Set("Authorization", "Bearer "+s.Webhook.Token.Reveal())
	}
	return h.send(request)
}

// send calls a webhook. No error of it has the address, or what the webhook has answered.
func (h *hook) send(request *http.Request) (json.RawMessage, error) {
	response, err := h.client.Do(request)
	if err != nil {
		return nil, &hookError{text: why(err)}
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer)) // so that the connection can be used again
	status := response.StatusCode
	if status >= 200 && status <= 299 {
		return json.Marshal(hookResult{status})
	}
	refused := &hookError{text: fmt.Sprintf("the webhook has answered %d %s", status, http.StatusText(status)),
		after: h.after(response.Header.Get("Retry-After"))}
	switch {
	case status >= 300 && status <= 399:
		refused.text += ": give the address that it redirects to in gateway.conversationSinks[].options.url"
	case status >= 500, status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusTooManyRequests:
		return nil, refused
	}
	return nil, worker.Permanent(refused)
}

// hookError is why a webhook was not told.
type hookError struct {
	text  string
	after time.Duration
}

func (e *hookError) Error() string { return e.text }

// RetryAfter is how long the webhook asks to wait, 0 if it does not.
func (e *hookError) RetryAfter() time.Duration { return e.after }

// after reads a Retry-After: seconds, or a date.
func (h *hook) after(value string) time.Duration {
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(min(max(seconds, 0), int(maxAfter/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(h.now()), 0), maxAfter)
	}
	return 0
}

// addressOf is the address of a webhook, if it may be called: with https, or on this machine.
func addressOf(secret config.Secret) (string, error) {
	u, err := url.Parse(secret.Reveal())
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "":
		return "", badAddress("it is no address")
	case u.Scheme == "https", u.Scheme == "http" && isLoopback(u.Hostname()):
		return u.String(), nil
	}
	return "", badAddress("it has to begin with https, unless it is of this machine")
}

func badAddress(what string) error {
	return &hookError{text: "gateway.conversationSinks[].options.url of the sink webhook: " + what}
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// why says what kept a webhook from answering, without its address.
func why(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer from the webhook within " + hookTime.String()
	}
	if _, is := errors.AsType[*net.DNSError](err); is {
		return "no answer from the webhook: its host is not known"
	}
	if op, is := errors.AsType[*net.OpError](err); is && op.Op == "dial" {
		return "no answer from the webhook: its host cannot be reached"
	}
	return "no answer from the webhook: the connection broke, or is not trusted"
}
