// Package apiclient finds and queries a running server, for commands that work beside one.
package apiclient

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Limits of requests to a server from the command line.
const (
	askTime     = 20 * time.Second // a busy machine is not down: without waiting, another address would be tried
	maxAskBytes = 8 << 20
)

// ask gets a path from the server at an address and decodes its JSON. The status is 0 if nothing answered.
func ask(ctx context.Context, address, path string, into any) (status int, err error) {
	ctx, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+reachableAt(address)+path, http.NoBody)
	if err != nil {
		return 0, fmt.Errorf("ask %s: %w", address, err)
	}
	transport := &http.Transport{DisableKeepAlives: true} // no proxy: the server is on this machine
	client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		return 0, fmt.Errorf("ask %s: %w", address, err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAskBytes)).Decode(into); err != nil {
		return response.StatusCode, fmt.Errorf("GET %s: unexpected response from %s: %w", path, address, err)
	}
	return response.StatusCode, nil
}

// reachableAt is the address for reaching a server that listens on all addresses of the machine.
func reachableAt(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || host != "" && (ip == nil || !ip.IsUnspecified()) {
		return address
	}
	return net.JoinHostPort("127.0.0.1", port)
}
