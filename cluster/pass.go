package cluster

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination/health"
)

// Bounds of what is passed on to the writer.
const (
	mostPassed = 1024 // requests and WebSockets at a time
	mostHops   = 3    // nodes that may pass on one request
	dialTime   = 2 * time.Second
	answerTime = 2 * time.Minute
)

// Passing passes requests on to the writer.
type Passing struct {
	node  *Node
	way   http.RoundTripper
	to    func(health.NodeAddresses) string
	slots chan struct{}
	grant func(*http.Request) string
}

// PassAPI returns a handler for requests to the API. grant returns what is known of who asks, "" for nothing; the writer
// reads it with Granted.
func (n *Node) PassAPI(grant func(*http.Request) string) *Passing {
	return n.newPassing(func(a health.NodeAddresses) string { return a.API }, grant)
}

// PassGateway returns a handler for connections of the gateway's clients.
func (n *Node) PassGateway() *Passing {
	return n.newPassing(func(a health.NodeAddresses) string { return a.Gateway }, func(*http.Request) string { return "" })
}

func (n *Node) newPassing(to func(health.NodeAddresses) string, grant func(*http.Request) string) *Passing {
	return &Passing{node: n, to: to, grant: grant, slots: make(chan struct{}, mostPassed), way: &http.Transport{
		DialContext: (&net.Dialer{Timeout: dialTime}).DialContext, ResponseHeaderTimeout: answerTime, MaxIdleConnsPerHost: 32, IdleConnTimeout: time.Minute}}
}

// Close ends idle connections.
func (p *Passing) Close() {
	if t, is := p.way.(*http.Transport); is {
		t.CloseIdleConnections()
	}
}

// ServeHTTP has the writer answer a request, with what its caller has sent, and a WebSocket too.
func (p *Passing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	hops := passedBy(r)
	peer, known := p.node.writer()
	target, err := url.Parse(p.to(peer.At))
	if !known || err != nil || target.Host == "" || len(hops) >= mostHops || slices.Contains(hops, p.node.opts.Name) {
		Refuse(w, http.StatusServiceUnavailable, "no_writer", "no node takes writes now", "repeat it: another node takes over within seconds")
		return
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	default:
		Refuse(w, http.StatusServiceUnavailable, "busy", "too many requests are passed on to the writer", "repeat it later, or ask node "+peer.Node)
		return
	}
	target.Scheme = httpScheme(target.Scheme)
	target.Path, target.RawPath = "", ""
	proxy := &httputil.ReverseProxy{Transport: p.way, FlushInterval: -1, Rewrite: func(out *httputil.ProxyRequest) {
		out.SetURL(target)
		out.SetXForwarded()
		if via := out.In.Header.Get("X-Forwarded-For"); via != "" {
			out.Out.Header.Set("X-Forwarded-For", via+", "+out.Out.Header.Get("X-Forwarded-For"))
		}
		forget(out.Out)
		out.Out.Header.Set(headerPassed, strings.Join(append(hops, p.node.opts.Name), ","))
		if grant := p.grant(out.In); grant != "" {
			out.Out.Header.Set(headerToken, p.node.opts.Token)
			out.Out.Header.Set(headerGrant, grant)
		}
	}, ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { p.fail(w, r, &peer, err) },
		ErrorLog: slog.NewLogLogger(p.node.opts.Logger.Handler(), slog.LevelDebug)}
	ctx, cancel := p.node.untilMoved(r.Context()) // a writer that hangs must not hold its clients when another one is there
	defer cancel()
	proxy.ServeHTTP(w, r.WithContext(ctx))
}

// fail answers a request for which the writer gave no answer.
func (p *Passing) fail(w http.ResponseWriter, r *http.Request, peer *health.ClusterNode, err error) {
	if r.Context().Err() != nil {
		return
	}
	p.node.opts.Logger.Debug("a request cannot be passed on", "writer", peer.Node, "path", r.URL.Path, "err", err)
	if network := (*net.OpError)(nil); errors.As(err, &network) && network.Op == "dial" {
		Refuse(w, http.StatusServiceUnavailable, "no_writer", "node "+peer.Node+", which writes, cannot be reached", "repeat it: another node takes over within seconds")
		return
	}
	Refuse(w, http.StatusBadGateway, "writer_lost", "node "+peer.Node+", which writes, was lost before it answered",
		"it may have been done: look, or repeat it with the same ids")
}

func httpScheme(scheme string) string {
	switch scheme {
	case "ws":
		return "http"
	case "wss":
		return "https"
	}
	return scheme
}

// passedBy returns the nodes that have passed a request on.
func passedBy(r *http.Request) []string {
	if said := r.Header.Get(headerPassed); said != "" {
		return strings.Split(said, ",")
	}
	return nil
}

// headerGrant says what a node knows of who asks.
const headerGrant = "X-Openclawd-Grant"

// forget removes what only nodes may say to each other.
func forget(r *http.Request) {
	r.Header.Del(headerToken)
	r.Header.Del(headerGrant)
}

// Granted returns what another node has found out about who asks, and "" if none says it. It removes that from the
// request.
func (n *Node) Granted(r *http.Request) string {
	said := r.Header.Get(headerGrant)
	if !n.shows(r) {
		said = ""
	}
	forget(r)
	return said
}

// IsPeer reports whether another node asks.
func (n *Node) IsPeer(r *http.Request) bool { return n.shows(r) }

// Refuse answers with an error in the form of the API's.
func Refuse(w http.ResponseWriter, status int, code, message, hint string) {
	text, _ := json.Marshal(struct { // strings always marshal
		Error string `json:"error"`
		Code  string `json:"code"`
		Hint  string `json:"hint"`
	}{message, code, hint})
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client may have left
}
