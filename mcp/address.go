package mcp

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const maxRedirects = 10

// address is the transport to a server with an address.
func (c *connection) address() sdk.Transport {
	conf := &c.server.conf
	to, _ := url.Parse(conf.URL.Reveal()) // the configuration checks it
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxIdleConnsPerHost, base.IdleConnTimeout = 4, time.Minute
	base.MaxResponseHeaderBytes = 64 << 10
	c.idle = base.CloseIdleConnections
	return &sdk.StreamableClientTransport{
		Endpoint: conf.URL.Reveal(), MaxEventSize: maxMessage, OAuthHandler: c.server.oauth,
		HTTPClient: &http.Client{Transport: &sender{base: base, connection: c}, CheckRedirect: func(r *http.Request, before []*http.Request) error {
			if r.URL.Host != to.Host || r.URL.Scheme != to.Scheme {
				return fmt.Errorf("it refers to another host: %s", r.URL.Host)
			}
			if len(before) > maxRedirects {
				return fmt.Errorf("it refers to another address more than %d times", maxRedirects)
			}
			return nil
		}},
	}
}

// sender adds the headers of the configuration, and bounds answers.
type sender struct {
	base       *http.Transport
	connection *connection
}

func (s *sender) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	own := s.connection.server
	for _, h := range own.conf.Headers {
		if own.oauth != nil && strings.EqualFold(h.Name, "Authorization") {
			continue
		}
		r.Header.Set(h.Name, h.Value.Reveal())
	}
	e, _ := r.Context().Value(exchangeKey{}).(*exchange)
	if e != nil {
		e.requests.Add(1)
	}
	answer, err := s.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if e != nil && answer.StatusCode >= 400 && answer.StatusCode < 500 && answer.StatusCode != http.StatusRequestTimeout {
		e.refused.Add(1)
	}
	answer.Body = &limited{ReadCloser: answer.Body, flooded: func() { s.connection.fail(errFlood) }}
	if !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		answer.Body = http.MaxBytesReader(nil, answer.Body, maxMessage)
	}
	return answer, nil
}

// exchangeKey is the key of the exchange in the context of a call.
type exchangeKey struct{}

func withExchange(ctx context.Context, e *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, e)
}
