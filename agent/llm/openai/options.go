package openai

import (
	"cmp"
	"net"
	"net/http"
	"time"
)

// Options of New. Zero means the default, if there is one.
type Options struct {
	ID        string // provider id, for errors and answers
	BaseURL   string // /chat/completions is appended
	Key       string // "" if none is needed
	UserAgent string // of the program

	// Headers are added to each request, unless the package sets them itself. Their values are secret.
	Headers http.Header

	Transport http.RoundTripper // shared connections; default: NewTransport()
	Now       func() time.Time  // for a Retry-After date; default: time.Now
	AfterFunc func(time.Duration, func()) Timer

	First time.Duration // maximum silence before the answer starts; long requests take a while
	Idle  time.Duration // maximum silence afterwards

	StreamBytes    int // size limit of a raw answer
	FrameBytes     int // of one chunk
	TextBytes      int // of the text
	ArgumentsBytes int // of one call's arguments
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
	maxErrorBody = 64 << 10               // bytes read of an error's body
	maxName      = 256                    // bytes of a tool's name, or of an id
	maxRest      = 4 << 10                // bytes drained after an answer to reuse the connection
	restTime     = 100 * time.Millisecond // time limit for that
	writeBuffer  = 64 << 10               // most requests fit, and are sent at once
)

// Timer is returned by AfterFunc, like *time.Timer.
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

// NewTransport returns a transport for many runs. It uses the proxy of HTTPS_PROXY, HTTP_PROXY and NO_PROXY, except
// for this machine. Compression is off: a compressing proxy would delay streams.
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
		WriteBufferSize:       writeBuffer,
	}
}
