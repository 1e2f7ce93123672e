package monitor_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/monitor"
)

// patience is how long a test waits for what has to come.
const patience = testscale.Patience

// running runs what goes on beside answering, until the test ends or stop is called, which waits for it.
func (b *testBundle) running(t testing.TB) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.monitor.Run(ctx) }()
	stopped := false
	stop = func() {
		cancel()
		if stopped {
			return
		}
		stopped = true
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Run: %v", err)
			}
		case <-time.After(patience):
			t.Error("Run does not end")
		}
	}
	t.Cleanup(stop)
	return stop
}

// watched is a log that counts how often it is read, and cannot be for a while.
type watched struct {
	monitor.Store
	reads, failures atomic.Int32
}

func watching(into **watched) func(*monitor.Options) {
	return func(o *monitor.Options) {
		*into = &watched{Store: o.Store}
		o.Store = *into
	}
}

func (w *watched) View(ctx context.Context, read func(*sql.Tx) error) error {
	w.reads.Add(1)
	if w.failures.Add(-1) >= 0 {
		return errors.New("disk error")
	}
	return w.Store.View(ctx, read)
}

// narrow serves again, through connections that hold little on their way.
func (b *testBundle) narrow(t testing.TB) {
	t.Helper()
	s := httptest.NewUnstartedServer(b.monitor.Handler())
	s.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if err := c.(*net.TCPConn).SetWriteBuffer(16 << 10); err != nil {
			t.Error(err)
		}
		return ctx
	}
	s.Start()
	t.Cleanup(s.Close)
	b.url = s.URL
}

// pushed is one frame.
type pushed struct {
	Type, AgentID, TaskID, Timestamp string
	Data                             struct {
		Message, Version     string
		Seq, Head            int64
		Events               []json.RawMessage
		AffectedWorkSessions []string
		Event, File          string
		EventType            string
		EventData            json.RawMessage
		WorkSessionID        string
	}
}

// seqs are those of the events of a frame.
func (f *pushed) seqs(t testing.TB) []int64 {
	t.Helper()
	var seqs []int64
	for _, raw := range f.Data.Events {
		var e struct{ Seq int64 }
		if err := json.Unmarshal(raw, &e); err != nil {
			t.Fatal(err)
		}
		seqs = append(seqs, e.Seq)
	}
	return seqs
}

// listener is a client of /ws.
type listener struct {
	*websocket.Conn
}

// handshake asks for a connection. Header names and values alternate.
func (b *testBundle) handshake(t testing.TB, path string, header ...string) (*listener, *http.Response, error) {
	t.Helper()
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	dialer := websocket.Dialer{HandshakeTimeout: patience}
	conn, response, err := dialer.Dial("ws"+strings.TrimPrefix(b.url, "http")+path, h)
	if err != nil {
		return nil, response, err
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &listener{conn}, response, conn.SetReadDeadline(time.Now().Add(patience))
}

// listen connects and reads the first frame.
func (b *testBundle) listen(t testing.TB, path string) *listener {
	t.Helper()
	l, _, err := b.handshake(t, path)
	if err != nil {
		t.Fatalf("connect to %s: %v", path, err)
	}
	if first := l.next(t); first.Type != "connected" || first.Data.Message != "Connected to Task Monitor" {
		t.Fatalf("first frame of %s: %+v", path, first)
	}
	return l
}

func (l *listener) read() (*pushed, error) {
	_, text, err := l.ReadMessage()
	if err != nil {
		return nil, err
	}
	f := &pushed{}
	return f, json.Unmarshal(text, f)
}

func (l *listener) next(t testing.TB) *pushed {
	t.Helper()
	f, err := l.read()
	if err != nil {
		t.Fatalf("read a frame: %v", err)
	}
	return f
}

// events reads frames until it has seen the event last, and returns the seqs of all events on the way.
func (l *listener) events(t testing.TB, last int64) []int64 {
	t.Helper()
	var seqs []int64
	for len(seqs) == 0 || seqs[len(seqs)-1] < last {
		seqs = append(seqs, l.next(t).seqs(t)...)
	}
	return seqs
}

// farewell reads on until the server says goodbye, and returns the seqs of the events on the way, the status, and where to go on.
func (l *listener) farewell(t testing.TB) (seqs []int64, status int, code string, resume int64) {
	t.Helper()
	for {
		f, err := l.read()
		if err == nil {
			seqs = append(seqs, f.seqs(t)...)
			continue
		}
		var goodbye *websocket.CloseError
		if !errors.As(err, &goodbye) {
			t.Fatalf("no goodbye but %v", err)
		}
		var reason struct {
			Code, Hint string
			Seq        int64
		}
		if goodbye.Text != "" {
			if err := json.Unmarshal([]byte(goodbye.Text), &reason); err != nil {
				t.Fatalf("%v in %q", err, goodbye.Text)
			}
		}
		return seqs, goodbye.Code, reason.Code, reason.Seq
	}
}

// refusalOf is what a handshake that fails is answered with.
func refusalOf(t testing.TB, response *http.Response, err error) (int, refusal) {
	t.Helper()
	if err == nil || response == nil {
		t.Fatalf("connected, or no answer: %v", err)
	}
	defer response.Body.Close()
	var r refusal
	body, err := io.ReadAll(response.Body)
	if err == nil {
		err = json.Unmarshal(body, &r)
	}
	if err != nil {
		t.Fatalf("%s: %v in %.200s", response.Status, err, body)
	}
	return response.StatusCode, r
}
