package mcp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// loginTime bounds how long a person may take.
const loginTime = 10 * time.Minute

// maxLines bounds the lines that wait to be looked at.
const maxLines = 16

// Browser asks a person at a terminal: the address is printed to out, and the browser is awaited at the redirect address of this machine.
// Where that cannot be reached, the address at which the browser ends can be written to in.
func Browser(in io.Reader, out io.Writer) Ask {
	lines := make(chan string, maxLines)
	go func() { // it ends with in
		for s := bufio.NewScanner(in); s.Scan(); {
			select {
			case lines <- s.Text():
			default: // no one reads them
			}
		}
	}()
	return func(ctx context.Context, address, redirect string) (*url.URL, error) {
		ctx, stop := context.WithTimeoutCause(ctx, loginTime, errors.New("no browser came back in time"))
		defer stop()
		target, err := url.Parse(redirect)
		if err != nil {
			return nil, err
		}
		came := make(chan *url.URL, 1)
		end, problem := await(ctx, target, came)
		if problem == nil {
			defer end()
		}
		fmt.Fprintf(out, "Open this address in a browser, and grant access:\n\n  %s\n\n", address)
		fmt.Fprintf(out, "If the browser then ends at an address that it cannot open, write that address here:\n")
		for {
			select {
			case u := <-came:
				return u, nil
			case line := <-lines:
				if u, err := url.Parse(strings.TrimSpace(line)); err == nil && u.Query().Get("state") != "" {
					return u, nil
				}
				fmt.Fprintf(out, "That is not such an address: it begins with %s and has a state.\n", redirect)
			case <-ctx.Done():
				return nil, errors.Join(context.Cause(ctx), problem)
			}
		}
	}
}

// await listens at a loopback address for a browser, until end is called.
func await(ctx context.Context, target *url.URL, came chan<- *url.URL) (end func(), err error) {
	if ip := net.ParseIP(target.Hostname()); target.Scheme != "http" || target.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("a browser cannot be awaited at %s", target.Host)
	}
	var l net.ListenConfig
	listener, err := l.Listen(ctx, "tcp", target.Host)
	if err != nil {
		return nil, err
	}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != target.Path || r.URL.Query().Get("state") == "" {
			http.NotFound(w, r)
			return
		}
		select {
		case came <- r.URL:
		default: // one is enough
		}
		_, _ = io.WriteString(w, "Thank you. The terminal says how it ended; this page can be closed.\n")
	})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener)
	}()
	return func() {
		ctx, stop := context.WithTimeout(context.Background(), 2*time.Second)
		defer stop()
		_ = server.Shutdown(ctx) // the page above is still sent
		_ = server.Close()
		<-ended
	}, nil
}
