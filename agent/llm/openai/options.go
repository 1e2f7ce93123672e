package openai

import (
	"cmp"
	"net"
	"net/http"
	"time"
)

// Options of New. Zero means the default, where there is one.
type Options struct {
	ID        string // of the provider, for errors and answers
	BaseURL   string // to which /chat/completions is added
	Key       string // "" for an endpoint that needs none
	UserAgent string // of the program

	// Headers are sent with each request, below those that the package sets itself. Their values are secrets.
	Headers http.Header

	Transport http.RoundTripper // to share connections; default: NewTransport()
	Now       func() time.Time  // for a Retry-After that is a date; default: time.Now
	AfterFunc func(time.Duration, func()) Timer

	First time.Duration // how long an endpoint may be silent before its answer begins; reading a long request takes some a while
	Idle  time.Duration // and afterwards

	StreamBytes    int // of one answer as it is sent, before which it must end
	FrameBytes     int // of one piece of it
	TextBytes      int // of its text
	ArgumentsBytes int // of one call
	ToolCalls      int
}

// Defaults of Options.
const (
	DefaultFirst = 5 * time.Minute
	DefaultIdle  = 2 * time.Minute

	DefaultStreamBytes    = 32 << 20
	DefaultFrameBytes     = 4 << 20
	DefaultTextBytes      = 4 << 20
	DefaultArgumentsBytes = 1 << 20
	DefaultToolCalls      = 128
)

const (
	maxErrorBody = 64 << 10               // bytes of a refusal that are read
	maxName      = 256                    // bytes of a tool's name, or of an id
	maxRest      = 4 << 10                // bytes that may follow an answer on a connection that is to be used again
	restTime     = 100 * time.Millisecond // how long to wait for them
)

// Timer is what AfterFunc gives: time.Timer is one.
type Timer interface {
	Reset(time.Duration) bool
	Stop() bool
}

func (o Options) withDefaults() Options {
	if o.Transport == nil {
		o.Transport = NewTransport()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.AfterFunc == nil {
		o.AfterFunc = func(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }
	}
	o.First = cmp.Or(o.First, DefaultFirst)
	o.Idle = cmp.Or(o.Idle, DefaultIdle)
	o.StreamBytes = cmp.Or(o.StreamBytes, DefaultStreamBytes)
	o.FrameBytes = cmp.Or(o.FrameBytes, DefaultFrameBytes)
	o.TextBytes = cmp.Or(o.TextBytes, DefaultTextBytes)
	o.ArgumentsBytes = cmp.Or(o.ArgumentsBytes, DefaultArgumentsBytes)
	o.ToolCalls = cmp.Or(o.ToolCalls, DefaultToolCalls)
	return o
}

// NewTransport makes connections that many runs share. It goes through the proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name, as other
// programs do, but never to this machine. Answers are not compressed: a proxy that compresses a stream holds it back.
func NewTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          256,
		MaxIdleConnsPerHost:   64,
		IdleConnTimeout:       90 * time.Second,
		DisableCompression:    true,
	}
}
