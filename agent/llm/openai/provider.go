package openai

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/pronto-lab/openclawd/agent/llm"
)

// Provider calls one endpoint. It is safe for concurrent use.
type Provider struct {
	o       Options // without the key and the headers
	baseURL string
	host    string
	http    *http.Client
	key     func() string // as a function, so that printing a Provider does not reveal it
	headers func() http.Header
	tools   *toolTexts
}

// New returns a Provider. It fails if BaseURL is invalid.
func New(o Options) (*Provider, error) {
	o = o.withDefaults()
	base, err := readBaseURL(o.BaseURL)
	if err != nil {
		return nil, err
	}
	key, headers := o.Key, o.Headers.Clone()
	o.Key, o.BaseURL, o.Headers = "", "", nil
	return &Provider{
		o:       o,
		baseURL: strings.TrimRight(strings.TrimSuffix(strings.TrimRight(base.String(), "/"), "/chat/completions"), "/"),
		host:    base.Hostname(),
		http: &http.Client{
			Transport:     o.Transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		tools:   &toolTexts{},
		key:     func() string { return key },
		headers: func() http.Header { return headers },
	}, nil
}

func readBaseURL(s string) (*url.URL, error) {
	base, err := url.Parse(strings.TrimSpace(s))
	switch {
	case err != nil:
		return nil, errors.New("is not a URL; write it as https://host/v1")
	case base.Scheme != "http" && base.Scheme != "https" || base.Hostname() == "":
		return nil, errors.New("must begin with http:// or https:// and a host; write it as https://host/v1")
	case base.RawQuery != "" || base.Fragment != "":
		return nil, errors.New("must end with its path; remove what follows ? or #")
	case base.User != nil:
		return nil, errors.New("must hold no user and password; set the key in its own setting")
	}
	return base, nil
}

// String returns the endpoint's address.
func (p *Provider) String() string { return p.o.ID + " at " + p.baseURL }

// GoString implements fmt.GoStringer.
func (p *Provider) GoString() string { return p.String() }

// Complete implements llm.Provider.
func (p *Provider) Complete(ctx context.Context, r *llm.Request, stream func(llm.Chunk)) (*llm.Answer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	request, err := p.request(r)
	if err != nil {
		return nil, err
	}
	c := newCall(ctx, p, r)
	defer c.end()
	answer, err := c.complete(&request, r, stream)
	if err == nil {
		return answer, nil
	}
	if ended := ctx.Err(); ended != nil {
		return nil, ended
	}
	return nil, c.failure(err)
}

// fail returns an error of this provider.
func (p *Provider) fail(class llm.Class, model, message string) *llm.Error {
	return &llm.Error{Class: class, Provider: p.o.ID, Model: model, Message: llm.Clean(message, p.secrets()...)}
}

// secrets must not appear in errors.
func (p *Provider) secrets() []string {
	all := []string{p.key()}
	for _, values := range p.headers() {
		for _, value := range values {
			all = append(all, value)
			all = append(all, strings.Fields(value)...) // the part after Bearer
		}
	}
	return all
}
