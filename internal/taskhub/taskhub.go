// Package taskhub is a client of Task-Hub, the program that stores the milestones, over HTTP.
//
// It talks to one server only: it follows no redirect to another host, and ignores proxies that the environment names, which would see the
// cookie. Answers never contain the cookie. They are limited in size and time.
package taskhub

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
)

// DefaultAddress is Task-Hub's address by default.
const DefaultAddress = "http://localhost:3102"

// Path is the path of the milestones, below the address.
const Path = "/api/milestones"

// Defaults of Options.
const (
	DefaultTimeout = 10 * time.Second
	DefaultMaxBody = 1 << 20
)

const (
	maxHops        = 3 // redirects on its own host
	maxHeaderBytes = 64 << 10
)

// Options configures New.
type Options struct {
	// Address returns the http or https address of Task-Hub, and the cookie to send if a request has none; called for each request. "" is
	// DefaultAddress, and no cookie.
	Address func() (base, cookie string)
	Timeout time.Duration    // of one request, redirects included; 0 means 10 s
	MaxBody int64            // most bytes of an answer; 0 means 1 MiB
	Now     func() time.Time // for a Retry-After that is a date; nil means time.Now
}

// Client sends requests to Task-Hub. It is safe for concurrent use.
type Client struct {
	o    Options
	http *http.Client
}

// New returns a Client.
func New(o Options) *Client {
	o.Timeout, o.MaxBody = cmp.Or(o.Timeout, DefaultTimeout), cmp.Or(o.MaxBody, DefaultMaxBody)
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Client{o: o, http: &http.Client{
		Timeout:       o.Timeout,
		Transport:     &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: maxHeaderBytes},
		CheckRedirect: stay,
	}}
}

// stay refuses redirects to another server, or that would change the request.
func stay(next *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > maxHops || next.URL.Scheme != first.URL.Scheme || next.URL.Host != first.URL.Host || next.Method != first.Method {
		return errRedirect
	}
	return nil
}

// Request to Task-Hub.
type Request struct {
	Method   string
	Segments []string // path segments below Path, unescaped
	Query    string   // query, escaped
	Body     json.RawMessage
	Header   http.Header
}

// Answer of Task-Hub, with any status.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte

	address, cookie string // of the request as sent
	flaw            error  // what is wrong with Body, an *Error
}

// ValidSegment reports whether a path segment remains one when it is decoded again, and does not lead elsewhere.
func ValidSegment(segment string) bool {
	return strings.Trim(segment, ".") != "" && !strings.ContainsAny(segment, `/\%`) && !strings.ContainsFunc(segment, unicode.IsControl)
}

// Ask returns Task-Hub's answer as it is. An error is an *Error without a status.
func (c *Client) Ask(ctx context.Context, r Request) (*Answer, error) {
	answer, err := c.exchange(ctx, &r)
	if err != nil {
		return nil, err
	}
	if answer.flaw != nil {
		return nil, answer.flaw
	}
	return answer, nil
}

// Do sends a request below /api/milestones, with the path given by its segments, and returns the body of a 2xx answer: JSON, or nil if it
// is empty. Any other answer is an *Error. body may be nil.
func (c *Client) Do(ctx context.Context, method string, segments []string, body json.RawMessage, header http.Header) (json.RawMessage, error) {
	answer, err := c.exchange(ctx, &Request{Method: method, Segments: segments, Body: body, Header: header})
	if err != nil {
		return nil, err
	}
	text := bytes.TrimSpace(answer.Body)
	switch {
	case answer.Status < 200 || answer.Status > 299:
		return nil, c.refusal(answer)
	case answer.flaw != nil:
		return nil, answer.flaw
	case len(text) == 0:
		return nil, nil
	case !json.Valid(text):
		return nil, &Error{Text: errForm.Error(), Err: errForm, Address: answer.address}
	}
	return text, nil
}

// exchange sends one request, redirects aside.
func (c *Client) exchange(ctx context.Context, r *Request) (*Answer, error) {
	base, cookie := c.o.Address()
	u, err := url.Parse(cmp.Or(base, DefaultAddress))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, &Error{Text: "TASK_HUB_URL, or taskMonitor.taskHubUrl, is not a valid address", Err: errAddress}
	}
	u = u.JoinPath(Path)
	for _, segment := range r.Segments {
		if !ValidSegment(segment) {
			return nil, &Error{Text: "an id is empty, consists of dots, or contains one of / \\ %", Err: errSegment, Address: shown(u)}
		}
		u = u.JoinPath(url.PathEscape(segment))
	}
	u.RawQuery = r.Query
	request, err := r.build(ctx, u)
	if err != nil {
		return nil, &Error{Text: "the request cannot be built", Err: cause(err), Address: shown(u)}
	}
	if request.Header.Get("Cookie") == "" {
		request.Header.Del("Cookie")
		if cookie != "" {
			request.Header.Set("Cookie", cookie)
		}
	}
	answer := &Answer{address: shown(u), cookie: request.Header.Get("Cookie")}
	fail := func(err error) error {
		return &Error{Text: withoutCookie(c.why(ctx, err), answer.cookie), Err: cause(err), Address: answer.address}
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fail(err)
	}
	defer response.Body.Close()
	answer.Status, answer.Header = response.StatusCode, response.Header
	answer.Body, err = io.ReadAll(io.LimitReader(response.Body, c.o.MaxBody+1))
	switch {
	case err != nil:
		answer.flaw = fail(err)
	case int64(len(answer.Body)) > c.o.MaxBody:
		answer.flaw = &Error{Text: fmt.Sprintf("%v: more than %d bytes", errLong, c.o.MaxBody), Err: errLong, Address: answer.address}
	}
	return answer, nil
}

// build makes the request, without the default cookie.
func (r *Request) build(ctx context.Context, u *url.URL) (*http.Request, error) {
	var body io.Reader
	if r.Body != nil {
		body = bytes.NewReader(r.Body)
	}
	request, err := http.NewRequestWithContext(ctx, r.Method, u.String(), body)
	if err != nil {
		return nil, err
	}
	if r.Header != nil {
		request.Header = r.Header.Clone()
	}
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	return request, nil
}

// shown returns an address for people: without credentials and query.
func shown(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}
