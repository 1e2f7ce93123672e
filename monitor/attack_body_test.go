package monitor_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// endless is a body that counts what is taken of it, which may go on when the answer is there.
type endless struct {
	left  int64
	taken atomic.Int64
}

func (e *endless) Read(p []byte) (int, error) {
	n := int(min(int64(len(p)), e.left))
	if n == 0 {
		return 0, io.EOF
	}
	for i := range p[:n] {
		p[i] = ' '
	}
	e.left -= int64(n)
	e.taken.Add(int64(n))
	return n, nil
}

// refusedConn is a connection whose server may close it before it has read a request whole: what cannot be written waits until the end, as
// in a client that reads the answer while it sends. The transport of net/http gives up at the first failed write, read answer or not.
type refusedConn struct {
	net.Conn
	closed chan struct{}
	close  sync.Once
}

func dialRefused(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &refusedConn{Conn: conn, closed: make(chan struct{})}, nil
}

func (c *refusedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		<-c.closed
	}
	return n, err
}

func (c *refusedConn) Close() error {
	c.close.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

func TestAttackHugeBodies(t *testing.T) {
	t.Parallel()
	const huge, most = 100 << 20, 16 << 20 // what is taken beyond the bound fills buffers on the way
	b := setup(t)
	client := &http.Client{Transport: &http.Transport{DialContext: dialRefused}}
	defer client.CloseIdleConnections()
	for _, o := range operations(t, b) {
		for _, length := range []int64{huge, -1} { // -1: in chunks
			body := &endless{left: huge}
			request, err := http.NewRequestWithContext(t.Context(), o.method, b.url+o.with("x"), io.NopCloser(body))
			if err != nil {
				t.Fatal(err)
			}
			request.ContentLength = length
			response, err := client.Do(request)
			if err != nil {
				t.Errorf("%s %s, length %d: %v", o.method, o.path, length, err)
				continue
			}
			answer, err := io.ReadAll(response.Body)
			response.Body.Close()
			var r refusal
			_ = json.Unmarshal(answer, &r)
			read := !o.writes() || o.method == http.MethodDelete && length < 0 // what needs no body passes over it
			if err != nil || !read && (response.StatusCode != http.StatusRequestEntityTooLarge || r.Code != "too_large") || body.taken.Load() > most {
				t.Errorf("%s %s, length %d: %d %.200s after %d bytes: %v", o.method, o.path, length, response.StatusCode, answer, body.taken.Load(), err)
			}
		}
	}
}
