package telegramtest

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// hook is a bot's webhook. Its goroutine ends when it is replaced or deleted, and with the server.
type hook struct {
	url, secret string
	end         context.CancelFunc
	errorAt     int64
	errorText   string
}

type webhookInfo struct {
	URL                  string   `json:"url"`
	HasCustomCertificate bool     `json:"has_custom_certificate"`
	PendingUpdateCount   int      `json:"pending_update_count"`
	MaxConnections       int      `json:"max_connections,omitempty"`
	AllowedUpdates       []string `json:"allowed_updates,omitempty"`
	LastErrorDate        int64    `json:"last_error_date,omitempty"`
	LastErrorMessage     string   `json:"last_error_message,omitempty"`
}

func (s *Server) setWebhook(c *call) (any, *Error) {
	address := c.text("url")
	if address == "" {
		return s.deleteWebhook(c)
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "":
		return nil, badRequest("bad webhook: invalid webhook URL specified")
	case u.Scheme != "https" && !isLoopback(u.Hostname()): // Telegram's server for own machines accepts http, too
		return nil, badRequest("bad webhook: An HTTPS URL must be provided for webhook")
	case strings.Trim(c.text("secret_token"), "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") != "":
		return nil, badRequest("secret token contains unallowed characters")
	}
	if refusal := c.by.updates.allow(c); refusal != nil {
		return nil, refusal
	}
	s.dropHook(c)
	ctx, end := context.WithCancel(context.Background())
	h := &hook{url: address, secret: c.text("secret_token"), end: end}
	c.by.hook = h
	s.hooks.Go(func() {
		select {
		case <-s.closed:
		case <-ctx.Done():
		}
		end()
	})
	bot := c.by
	s.hooks.Go(func() { s.deliver(ctx, bot, h) })
	return true, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (s *Server) deleteWebhook(c *call) (any, *Error) {
	s.dropHook(c)
	return true, nil
}

func (s *Server) dropHook(c *call) {
	if c.flag("drop_pending_updates") {
		c.by.updates.pending, c.by.updates.ids = nil, nil
	}
	if c.by.hook != nil {
		c.by.hook.end()
		c.by.hook = nil
	}
}

func (s *Server) getWebhookInfo(c *call) (any, *Error) {
	info := webhookInfo{PendingUpdateCount: len(c.by.updates.pending), AllowedUpdates: c.by.updates.allowed}
	if h := c.by.hook; h != nil {
		info.URL, info.MaxConnections, info.LastErrorDate, info.LastErrorMessage = h.url, 40, h.errorAt, h.errorText
	}
	return info, nil
}

// deliver posts a bot's updates to its webhook, one after the other, each until it is answered with 2xx.
func (s *Server) deliver(ctx context.Context, bot *account, h *hook) {
	for ctx.Err() == nil {
		s.mu.Lock()
		changed := s.changed
		var body []byte
		var id int64
		if len(bot.updates.pending) > 0 {
			body, id = bot.updates.pending[0], bot.updates.ids[0]
		}
		s.mu.Unlock()
		if body == nil {
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		}
		err := s.post(ctx, h, body)
		s.mu.Lock()
		if err == nil && bot.hook == h {
			bot.updates.confirm(id + 1)
		} else if err != nil {
			h.errorAt, h.errorText = s.now().Unix(), err.Error()
		}
		s.happened()
		s.mu.Unlock()
		if err != nil {
			pause(ctx, s.retry)
		}
	}
}

func (s *Server) post(ctx context.Context, h *hook, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	if h.secret != "" {
		r.Header.Set("X-Telegram-Bot-Api-Secret-Token", h.secret)
	}
	answer, err := s.client.Do(r)
	if err != nil {
		return telegramsWords("Connection refused")
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxBody)) // its content is not used
	_ = answer.Body.Close()
	if answer.StatusCode/100 != 2 {
		return telegramsWords("Wrong response from the webhook: " + answer.Status)
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
