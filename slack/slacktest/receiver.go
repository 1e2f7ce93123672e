package slacktest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// SetRequestURL makes the app receive events, commands and interactions by HTTP instead of sockets, after its receiver
// has answered the challenge. "" returns to Socket Mode.
func (a *App) SetRequestURL(ctx context.Context, to string) error {
	if to != "" {
		if err := a.challenge(ctx, to); err != nil {
			return fmt.Errorf("verify the request URL: %w", err)
		}
	}
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	a.own.requestURL = to
	return nil
}

// errChallenge is the error of a receiver that does not answer the challenge.
var errChallenge = errors.New("the receiver does not return the challenge")

func (a *App) challenge(ctx context.Context, to string) error {
	value := secret(16)
	body := encode(map[string]string{"token": "legacy", "challenge": value, "type": "url_verification"})
	r, err := a.s.signed(ctx, a.own, to, "application/json", body)
	if err != nil {
		return err
	}
	response, err := a.s.client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	if err != nil {
		return err
	}
	var said struct {
		Challenge string `json:"challenge"`
	}
	_ = json.Unmarshal(text, &said) // plain text is accepted too
	if response.StatusCode != http.StatusOK || said.Challenge != value && strings.TrimSpace(string(text)) != value {
		return errChallenge
	}
	return nil
}

// signed is a request to a receiver, signed with the app's secret.
func (s *Server) signed(ctx context.Context, a *app, to, kind string, body []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	at := strconv.FormatInt(s.o.Now().Unix(), 10)
	r.Header.Set("Content-Type", kind)
	r.Header.Set("X-Slack-Request-Timestamp", at)
	r.Header.Set("X-Slack-Signature", Signature(a.sign, at, body))
	return r, nil
}

// Signature is the value of X-Slack-Signature for a body and the value of X-Slack-Request-Timestamp.
func Signature(signingSecret, timestamp string, body []byte) string {
	h := hmac.New(sha256.New, []byte(signingSecret))
	_, _ = fmt.Fprintf(h, "v0:%s:%s", timestamp, body) // a hash takes everything
	return "v0=" + hex.EncodeToString(h.Sum(nil))
}

// post makes one delivery by HTTP.
func (d *delivery) post(to string) {
	kind, body := "application/json", []byte(d.payload)
	switch d.kind {
	case interactive:
		kind, body = "application/x-www-form-urlencoded", []byte(url.Values{"payload": {string(d.payload)}}.Encode())
	case slash:
		kind, body = "application/x-www-form-urlencoded", []byte(form(d.payload))
	}
	ctx, cancel := context.WithTimeout(d.s.ctx, d.s.o.Ack)
	defer cancel()
	r, err := d.s.signed(ctx, d.app, to, kind, body)
	var text []byte
	if err == nil {
		d.s.mu.Lock()
		if d.attempts > 1 {
			r.Header.Set("X-Slack-Retry-Num", strconv.Itoa(d.attempts-1))
			r.Header.Set("X-Slack-Retry-Reason", d.reason)
		}
		d.s.mu.Unlock()
		text, err = d.exchange(r)
	}
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	switch {
	case d.s.shut:
	case err == nil && d.app.lostAcks == 0:
		d.ack(text)
	case err == nil:
		d.app.lostAcks--
		d.fail("http_timeout")
	default:
		d.fail(reasonOf(err))
	}
}

// errRefused is the error of an answer other than 200.
var errRefused = errors.New("the receiver refuses")

func (d *delivery) exchange(r *http.Request) ([]byte, error) {
	response, err := d.s.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, errRefused
	}
	return text, nil
}

func reasonOf(err error) string {
	var timeout net.Error
	switch {
	case errors.Is(err, errRefused):
		return "http_error"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "http_timeout"
	}
	return "connection_failed"
}

// form is a flat object as a form.
func form(payload []byte) string {
	var all map[string]string
	if err := json.Unmarshal(payload, &all); err != nil {
		panic("slacktest: a command is not flat: " + err.Error())
	}
	values := url.Values{}
	for name, v := range all {
		values.Set(name, v)
	}
	return values.Encode()
}
