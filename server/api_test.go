package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/internal/testscale"
)

// servingAt runs a program with short limits until the test ends, and returns where it listens.
func servingAt(t *testing.T) (address string) {
	t.Helper()
	p, ready := testProgram(t)
	p.limits.readHeaderTime, p.limits.readTime = time.Second, 2*time.Second
	api, _ := starts(t, p, ready)
	return api.String()
}

// sends opens a connection, sends text, and returns the status of the answer and what it says; 0 where the connection is closed without one.
func sends(t *testing.T, address, text string) (status int, body string) {
	t.Helper()
	connection, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if err := connection.SetDeadline(time.Now().Add(testscale.Patience)); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(connection, text) // the server may have had enough before the end
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		var late net.Error
		if errors.As(err, &late) && late.Timeout() {
			t.Errorf("%.60q: the connection is left open", text)
		}
		return 0, ""
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	if err != nil {
		t.Errorf("%.60q: %v", text, err)
	}
	return response.StatusCode, string(all)
}

// Malformed requests cost neither much time nor much memory.
func TestAttackConnections(t *testing.T) {
	t.Parallel()
	address := servingAt(t)
	const patch = "PATCH /api/work-sessions/ws_a/category HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	for name, c := range map[string]struct {
		text   string
		status int
		says   string
	}{
		"header that never ends":         {"GET /api/health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", 0, ""},
		"nothing at all":                 {"", 0, ""},
		"body that never ends":           {patch + "Content-Length: 100\r\n\r\n{", 400, "Invalid JSON body"},
		"chunk that never ends":          {patch + "Transfer-Encoding: chunked\r\n\r\n5\r\n{", 400, "Invalid JSON body"},
		"header that is too long":        {"GET /api/health HTTP/1.1\r\nHost: localhost\r\nX-Long: " + strings.Repeat("x", 100<<10) + "\r\n\r\n", 431, "431"},
		"too many header lines":          {"GET /api/health HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("X-A: b\r\n", 20_000) + "\r\n", 431, "431"},
		"path that is too long":          {"GET /" + strings.Repeat("x", 100<<10) + " HTTP/1.1\r\nHost: localhost\r\n\r\n", 431, "431"},
		"body said to be huge":           {patch + "Content-Length: 104857600\r\n\r\n{", 413, `"code":"too_large"`},
		"body said to be beyond numbers": {patch + "Content-Length: 99999999999999999999\r\n\r\n{", 400, ""},
		"two lengths":                    {patch + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x", 400, ""},
		"length with a sign":             {patch + "Content-Length: +2\r\n\r\n{}", 400, ""},
		"space before a colon":           {patch + "Content-Length : 2\r\n\r\n{}", 400, ""},
		"unknown transfer encoding":      {patch + "Transfer-Encoding: xchunked\r\n\r\n{}", 501, ""},
		"bad chunk":                      {patch + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", 400, "Invalid JSON body"},
		"two hosts":                      {"GET /api/health HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", 400, ""},
		"no host":                        {"GET /api/health HTTP/1.1\r\n\r\n", 400, ""},
		"host in the path":               {"GET http://evil.example/api/health HTTP/1.1\r\nHost: localhost\r\n\r\n", 421, "Unknown host"},
		"another protocol":               {"SSH-2.0-OpenSSH_9.6\r\n\r\n", 400, ""},
		"a tunnel":                       {"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n", 421, "Unknown host"},
		"an honest one":                  {"GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n", 200, `"status":"ok"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if status, body := sends(t, address, c.text); status != c.status || !strings.Contains(body, c.says) {
				t.Errorf("%d %.200s, want %d %s", status, body, c.status, c.says)
			}
		})
	}
}

// blanks are bytes without end that count how many were taken.
type blanks struct {
	left  int
	taken atomic.Int64
}

func (b *blanks) Read(p []byte) (int, error) {
	n := min(len(p), b.left)
	if n == 0 {
		return 0, io.EOF
	}
	copy(p, strings.Repeat(" ", n))
	b.left -= n
	b.taken.Add(int64(n))
	return n, nil
}

func TestAttackHugeBodiesOnTheRealServer(t *testing.T) {
	t.Parallel()
	const huge, most = 100 << 20, 16 << 20 // beyond the bound, what is taken lies in buffers on the way
	address := servingAt(t)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for _, length := range []int64{huge, -1} {
		body := &blanks{left: huge}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, "http://"+address+"/api/work-sessions/ws_a/category", io.NopCloser(body))
		if err != nil {
			t.Fatal(err)
		}
		request.ContentLength = length
		began := time.Now()
		response, err := client.Do(request)
		if err != nil {
			t.Errorf("length %d: %v", length, err)
			continue
		}
		answer, err := io.ReadAll(response.Body)
		response.Body.Close()
		said := fmt.Sprintf("length %d: %d %s after %d bytes and %s", length, response.StatusCode, answer, body.taken.Load(), time.Since(began))
		if err != nil || response.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(string(answer), `"code":"too_large"`) || body.taken.Load() > most {
			t.Errorf("%s: %v", said, err)
		}
		t.Log(said)
	}
}

// A server that ends closes idle connections and lets active requests finish.
func TestSilentConnectionsAreEnded(t *testing.T) {
	t.Parallel()
	var s idleConns
	ours, theirs := net.Pipe()
	asking, answered := net.Pipe()
	s.track(ours, http.StateNew)
	s.track(asking, http.StateNew)
	s.track(asking, http.StateActive)
	s.end()
	if _, err := theirs.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("a silent connection: %v", err)
	}
	go func() { _, _ = io.WriteString(asking, "x") }()
	if _, err := answered.Read(make([]byte, 1)); err != nil {
		t.Errorf("one that has asked: %v", err)
	}
	if err := errors.Join(asking.Close(), answered.Close(), theirs.Close()); err != nil {
		t.Error(err)
	}
}
