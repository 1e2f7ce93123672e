package notifier

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
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// Retries and timeouts of a webhook call. The lease is longer than the timeout, so that a timeout is reported as such.
const (
	hookAttempts = 8
	hookTime     = 10 * time.Second
	hookLease    = 30 * time.Second

	maxAnswer = 64 << 10       // bytes of an answer that are read and discarded
	maxAfter  = 24 * time.Hour // the longest accepted Retry-After
)

// idempotencyKey is the header by which a webhook recognizes a repeated call.
const idempotencyKey = "Idempotency-Key"

// Webhook returns the handler of WebhookKind. conf returns the configuration in force, which has the address of the sink: addresses hold
// secrets and stay out of the log.
//
// It posts JSON to the sink's url, with its token as a bearer, and takes any 2xx as success. The address must be https or local, and
// redirects are not followed. 408, 425, 429, 5xx and network errors are retried; any other answer is final.
func Webhook(client *http.Client, conf func() *config.Config, now func() time.Time) worker.Handler {
	h := &hook{client: *client, conf: conf, now: now}
	h.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return worker.Task(worker.Policy{MaxAttempts: hookAttempts, Timeout: hookLease},
		func(ctx context.Context, item workqueue.Item, what *coordination.WorkScheduled) (json.RawMessage, error) {
			return h.do(ctx, item.EffectID, what.Payload)
		})
}

type hook struct {
	client http.Client
	conf   func() *config.Config
	now    func() time.Time
}

// hookResult is the logged result of a call.
type hookResult struct {
	Status int `json:"status"`
}

func (h *hook) do(ctx context.Context, effectID string, payload json.RawMessage) (json.RawMessage, error) {
	var c webhookCall
	if err := json.Unmarshal(payload, &c); err != nil {
		return nil, worker.Permanent(fmt.Errorf("decode the webhook payload: %w", err))
	}
	s := sinkOf(h.conf(), c.SinkID)
	if s == nil {
		return nil, worker.Permanent(&hookError{text: fmt.Sprintf("the sink %q is no longer configured: enable it in gateway.conversationSinks", c.SinkID)})
	}
	address, err := addressOf(s.Webhook.URL)
	if err != nil {
		return nil, worker.Permanent(err)
	}
	body, err := json.Marshal(c.Event)
	if err != nil {
		return nil, worker.Permanent(fmt.Errorf("encode the webhook payload: %w", err))
	}
	ctx, stop := context.WithTimeout(ctx, hookTime)
	defer stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, worker.Permanent(badAddress("it is not a valid URL"))
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "openclawd")
	request.Header.Set(idempotencyKey, effectID)
	if s.Webhook.Token != "" {
		request.Header.Set("Authorization", "Bearer "+s.Webhook.Token.Reveal())
	}
	return h.send(request)
}

// send calls a webhook. Its errors contain neither the address nor the answer.
func (h *hook) send(request *http.Request) (json.RawMessage, error) {
	response, err := h.client.Do(request)
	if err != nil {
		return nil, &hookError{text: why(err)}
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer)) // so that the connection is reused
	status := response.StatusCode
	if status >= 200 && status <= 299 {
		return json.Marshal(hookResult{status})
	}
	refused := &hookError{text: fmt.Sprintf("the webhook answered %d %s", status, http.StatusText(status)),
		after: h.after(response.Header.Get("Retry-After"))}
	switch {
	case status >= 300 && status <= 399:
		refused.text += ": give the address that it redirects to in gateway.conversationSinks[].options.url"
	case status >= 500, status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusTooManyRequests:
		return nil, refused
	}
	return nil, worker.Permanent(refused)
}

// hookError is a failed webhook call.
type hookError struct {
	text  string
	after time.Duration
}

func (e *hookError) Error() string { return e.text }

// RetryAfter returns the pause that the webhook asks for, 0 for none.
func (e *hookError) RetryAfter() time.Duration { return e.after }

// after parses a Retry-After: seconds, or a date.
func (h *hook) after(value string) time.Duration {
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(min(max(seconds, 0), int(maxAfter/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(h.now()), 0), maxAfter)
	}
	return 0
}

// addressOf returns the URL of a webhook, which must be https or local.
func addressOf(secret config.Secret) (string, error) {
	u, err := url.Parse(secret.Reveal())
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "":
		return "", badAddress("it is not a valid URL")
	case u.Scheme == "https", u.Scheme == "http" && isLoopback(u.Hostname()):
		return u.String(), nil
	}
	return "", badAddress("it must begin with https unless it is local")
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

// why explains a network error without the address.
func why(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer from the webhook within " + hookTime.String()
	}
	if _, is := errors.AsType[*net.DNSError](err); is {
		return "no answer from the webhook: its host is unknown"
	}
	if op, is := errors.AsType[*net.OpError](err); is && op.Op == "dial" {
		return "no answer from the webhook: its host is unreachable"
	}
	return "no answer from the webhook: the connection broke, or is not trusted"
}
