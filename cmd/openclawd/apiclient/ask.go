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

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/database"
)

// Limits of requests to a server from the command line.
const (
	askTime     = 20 * time.Second // a busy machine is not down: without waiting, another address would be tried
	maxAskBytes = 8 << 20
)

// ask gets a path from the server at an address, with the token for reading if it is known to be ours, and decodes its
// JSON. The status is 0 if nothing answered.
func (p *Place) ask(ctx context.Context, address, path string, into any) (status int, err error) {
	ctx, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+reachableAt(address)+path, http.NoBody)
	if err != nil {
		return 0, fmt.Errorf("ask %s: %w", address, err)
	}
	if token := p.tokenFor(address); token != "" {
		request.Header.Set("X-Task-Monitor-Token", token.Reveal())
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

// tokenFor is the token for reading, for the API that was named explicitly or the server that has locked a database of
// ours; "" for other addresses, where anyone may listen.
func (p *Place) tokenFor(address string) config.Secret {
	if at, _ := database.ServerOf(p.DB); p.apiNamed || at != "" && at == address && isOurs(p.DB+".lock") && database.ServerRuns(p.DB) {
		return p.readToken.Value
	}
	return ""
}

// reachableAt is the address for reaching a server that listens on all addresses of the machine.
func reachableAt(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || host != "" && (ip == nil || !ip.IsUnspecified()) {
		return address
	}
	return net.JoinHostPort("127.0.0.1", port)
}
