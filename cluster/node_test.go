package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/cluster"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/shared"
	"github.com/pronto-lab/openclawd/eventstore/shared/sharedtest"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "known to all nodes"

// member is a node with a log of its own, and an API that says who answers.
type member struct {
	*cluster.Node
	db      *sqlite.DB
	api     *httptest.Server
	handler atomic.Pointer[http.Handler]
	pulses  atomic.Int64 // that were asked for
	ended   chan error
	stop    context.CancelFunc
}

// join starts a node.
func join(t *testing.T, log shared.Log, name string, change ...func(*cluster.Options)) *member {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "log.db"), Durability: sqlite.DurabilityRelaxed, Shared: log})
	if err != nil {
		t.Fatal(err)
	}
	m := &member{db: db, ended: make(chan error, 1)}
	m.api = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := m.handler.Load(); h != nil {
			(*h).ServeHTTP(w, r)
		}
	}))
	opts := cluster.Options{Log: log, Store: db, Name: name, Lease: 2 * time.Second, At: health.NodeAddresses{API: m.api.URL, Gateway: "ws" + strings.TrimPrefix(m.api.URL, "http")}, Token: token,
		Now: time.Now, Logger: slog.New(slog.DiscardHandler), Serve: func(ctx context.Context, role cluster.Role) error {
			m.serve(ctx, role)
			<-ctx.Done()
			return nil
		}}
	for _, c := range change {
		c(&opts)
	}
	m.Node = cluster.New(opts)
	ctx, stop := context.WithCancel(context.Background())
	m.stop = stop
	go func() { m.ended <- m.Run(ctx) }()
	t.Cleanup(func() {
		m.leave(t)
		m.api.Close()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// leave ends a node; more than once is no harm.
func (m *member) leave(t *testing.T) {
	t.Helper()
	m.stop()
	if err := <-m.ended; err != nil && shared.Fatal(err) == nil {
		t.Error(err)
	}
	m.ended <- nil
}

// serve makes the API of a role: that of the writer says its name and the headers it got, others pass on to it.
func (m *member) serve(ctx context.Context, role cluster.Role) {
	pass := m.PassAPI(func(r *http.Request) string { return r.URL.Query().Get("grant") })
	context.AfterFunc(ctx, pass.Close)
	pulse := m.Pulse(ctx)
	var h http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		peer := m.IsPeer(r)
		granted := m.Granted(r)
		switch {
		case r.URL.Path == cluster.PulsePath && peer:
			m.pulses.Add(1)
			pulse.ServeHTTP(w, r)
		case r.URL.Path == cluster.StepDownPath && peer:
			if err := m.StepDown(r.Context()); err != nil {
				http.Error(w, err.Error(), http.StatusConflict)
			}
		case role != cluster.Writer:
			pass.ServeHTTP(w, r)
		default:
			fmt.Fprintf(w, "%s peer=%t granted=%q passed=%q", m.State().Node, peer, granted, r.Header.Get("X-Openclawd-Passed"))
		}
	})
	m.handler.Store(&h)
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	late, tick := time.NewTimer(testscale.Patience), time.NewTicker(5*time.Millisecond)
	defer late.Stop()
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-late.C:
			t.Fatalf("it does not come to be that %s", what)
		}
	}
}

func (m *member) becomes(t *testing.T, role cluster.Role) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s is %s", m.State().Node, role), func() bool { return m.Role() == role })
}

// knows waits until a node knows that another one writes.
func (m *member) knows(t *testing.T, writer string) {
	t.Helper()
	eventually(t, m.State().Node+" knows that "+writer+" writes", func() bool { return m.State().Writer == writer && m.HasWriter() })
}

func (m *member) append(ctx context.Context, text string) error {
	_, err := m.db.Append(ctx, eventstore.StreamAppend{Stream: "s", Events: []eventstore.NewEvent{{Type: "said", Data: []byte(`{"text":"` + text + `"}`)}}})
	return err
}

func (m *member) get(t *testing.T, path string, headers ...string) (status int, body, retry string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, m.api.URL+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := m.api.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var b strings.Builder
	buffer := make([]byte, 512)
	for {
		n, err := answer.Body.Read(buffer)
		b.Write(buffer[:n])
		if err != nil {
			return answer.StatusCode, b.String(), answer.Header.Get("Retry-After")
		}
	}
}

// One node writes. It gives its role away when it is asked, when it ends, and when another one is promoted.
func TestNodesTakeTurns(t *testing.T) {
	t.Parallel()
	log := sharedtest.NewMemory(time.Now)
	a := join(t, log, "a")
	a.becomes(t, cluster.Writer)
	b, reader := join(t, log, "b"), join(t, log, "c", func(o *cluster.Options) { o.Reader = true })
	if err := a.append(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	if err := b.append(t.Context(), "refused"); !errors.As(err, new(*shared.FollowerError)) {
		t.Errorf("an append of a follower: %v", err)
	}
	b.knows(t, "a")
	reader.knows(t, "a")
	if err := b.StepDown(t.Context()); !errors.As(err, new(*cluster.NotWriterError)) {
		t.Errorf("a follower steps down: %v", err)
	}
	if err := reader.Promote(t.Context(), true); !errors.As(err, new(*cluster.ReaderError)) {
		t.Errorf("a reader is promoted: %v", err)
	}
	if err := a.StepDown(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.becomes(t, cluster.Writer)
	if err := a.append(t.Context(), "refused"); err == nil {
		t.Error("a node that stepped down appends")
	}
	if err := b.append(t.Context(), "two"); err != nil {
		t.Fatal(err)
	}
	a.knows(t, "b")
	if err := a.Promote(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	a.becomes(t, cluster.Writer)
	a.leave(t)
	b.becomes(t, cluster.Writer)
	if err := b.append(t.Context(), "three"); err != nil {
		t.Fatal(err)
	}
	if reader.Role() != cluster.Reader {
		t.Errorf("the reader is %s", reader.Role())
	}
	if s := b.State(); s.Takeovers != 2 || s.Epoch != 4 || s.Seq != 3 || s.Writer != "b" {
		t.Errorf("%+v", s)
	}
}

// The node that a person promotes gets the lease, and no other that asks for it.
func TestTheOneThatIsPromotedWrites(t *testing.T) {
	t.Parallel()
	log := sharedtest.NewMemory(time.Now)
	a := join(t, log, "a")
	a.becomes(t, cluster.Writer)
	all := []*member{a}
	for _, name := range []string{"b", "c", "d", "e"} {
		n := join(t, log, name)
		n.knows(t, "a")
		all = append(all, n)
	}
	for epoch, i := range []int{3, 1, 4} {
		next := all[i]
		if err := next.Promote(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		next.becomes(t, cluster.Writer)
		if s := next.State(); s.Epoch != int64(epoch)+2 {
			t.Errorf("%s writes in epoch %d, want %d: another node did before", next.State().Node, s.Epoch, epoch+2)
		}
		for _, n := range all {
			if n != next {
				n.knows(t, next.State().Node)
			}
		}
	}
}

// Two processes that have one name do not take the lease from each other for good: the one that was started later ends.
func TestAnotherProcessWithTheName(t *testing.T) {
	t.Parallel()
	log := sharedtest.NewMemory(time.Now)
	process := func(id string) func(*cluster.Options) { return func(o *cluster.Options) { o.Process = id } }
	first := join(t, log, "a", process("first"))
	first.becomes(t, cluster.Writer)
	second := join(t, log, "a", process("second"))
	err := <-second.ended
	second.ended <- err // for leave
	if taken := new(shared.NameTakenError); !errors.As(err, &taken) || taken.Node != "a" {
		t.Fatalf("the second process ended with %v", err)
	}
	eventually(t, "the first process writes", func() bool { return first.append(t.Context(), "one") == nil }) // it may learn now that the other took over
	first.leave(t)
	join(t, log, "a", process("third")).becomes(t, cluster.Writer) // what the ended one said last is no other process
}

// A node whose program is older than one that has written does not write, after that has gone, too.
func TestAnOlderProgramOnlyFollows(t *testing.T) {
	t.Parallel()
	log := sharedtest.NewMemory(time.Now)
	schema := func(n int64) func(*cluster.Options) { return func(o *cluster.Options) { o.Schema = n } }
	older := join(t, log, "older", schema(34))
	older.becomes(t, cluster.Writer)
	newer := join(t, log, "newer", schema(35))
	newer.knows(t, "older")
	if err := newer.Promote(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	newer.becomes(t, cluster.Writer)
	older.knows(t, "newer")
	newer.leave(t)
	eventually(t, "the older one says why it does not write", func() bool { return strings.Contains(older.State().Error, "schema 35") })
	if s := older.State(); s.Role != cluster.Follower || s.Epoch != 2 {
		t.Errorf("%+v", s)
	}
	join(t, log, "newest", schema(35)).becomes(t, cluster.Writer)
}

// A follower passes requests on with what it knows of who asks, and nothing that the caller says of that; never in a
// circle.
func TestPassingOn(t *testing.T) {
	t.Parallel()
	log := sharedtest.NewMemory(time.Now)
	a := join(t, log, "a")
	a.becomes(t, cluster.Writer)
	b := join(t, log, "b")
	b.knows(t, "a")
	for _, c := range []struct {
		name, path string
		headers    []string
		status     int
		body       string
	}{
		{"a program", "/x", nil, 200, `a peer=false granted="" passed="b"`},
		{"a page", "/x?grant=true%3Bfalse%3Bann", nil, 200, `a peer=true granted="true;false;ann" passed="b"`},
		{"one who claims", "/x", []string{"X-Openclawd-Grant", "true;true;eve"}, 200, `a peer=false granted="" passed="b"`},
		{"one who guesses", "/x", []string{"X-Openclawd-Grant", "true;true;eve", "X-Openclawd-Node-Token", "guess"}, 200, `a peer=false granted="" passed="b"`},
		{"passed on", "/x", []string{"X-Openclawd-Passed", "d"}, 200, `a peer=false granted="" passed="d,b"`},
		{"a circle", "/x", []string{"X-Openclawd-Passed", "d,b"}, 503, `"code":"no_writer"`},
		{"a long way", "/x", []string{"X-Openclawd-Passed", "d,e,f"}, 503, `"code":"no_writer"`},
	} {
		status, body, retry := b.get(t, c.path, c.headers...)
		if status != c.status || !strings.Contains(body, c.body) || (status == 503) != (retry == "1") {
			t.Errorf("%s: %d %s, retry %q", c.name, status, body, retry)
		}
	}
}

// A writer whose process is gone is noticed by its address, long before its lease ends, and it is fenced if that was wrong.
func TestWriterThatIsGoneNeedNotBeWaitedFor(t *testing.T) {
	t.Parallel()
	log := sharedtest.NewMemory(time.Now)
	long := func(o *cluster.Options) { o.Lease = time.Hour }
	a := join(t, log, "a", long)
	a.becomes(t, cluster.Writer)
	b := join(t, log, "b", long)
	b.knows(t, "a")
	eventually(t, "b feels the pulse of a", func() bool { return a.pulses.Load() > 0 })
	if err := a.api.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	a.api.CloseClientConnections()
	b.becomes(t, cluster.Writer)
	if err := a.append(t.Context(), "refused"); err == nil {
		t.Error("a writer that was taken for dead appends")
	}
	a.becomes(t, cluster.Follower)
	if err := b.append(t.Context(), "one"); err != nil {
		t.Error(err)
	}
}

// A node whose events are others than those of the shared log stops, and the others learn of it.
func TestNodeThatDivergedStops(t *testing.T) {
	t.Parallel()
	log := sharedtest.NewMemory(time.Now)
	a := join(t, log, "a")
	a.becomes(t, cluster.Writer)
	if err := a.append(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	other := sharedtest.NewMemory(time.Now)
	b := join(t, other, "b")
	b.becomes(t, cluster.Writer)
	if err := b.append(t.Context(), "another"); err != nil {
		t.Fatal(err)
	}
	b.leave(t)
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "copy.db"), Shared: other, Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	following, enough := context.WithCancel(t.Context())
	followed := make(chan error, 1)
	go func() { followed <- db.Follow(following) }()
	if _, err := db.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	enough()
	<-followed
	path := db.Path()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if db, err = sqlite.Open(t.Context(), sqlite.Options{Path: path, Shared: log, Durability: sqlite.DurabilityRelaxed}); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c := cluster.New(cluster.Options{Log: log, Store: db, Name: "c", Lease: time.Second, Token: token, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		Serve: func(ctx context.Context, _ cluster.Role) error { <-ctx.Done(); return nil }})
	if err := c.Run(t.Context()); !errors.As(err, new(*shared.DivergedError)) {
		t.Fatalf("it ends with %v", err)
	}
	eventually(t, "the writer knows of it", func() bool {
		for _, n := range a.State().Nodes {
			if n.Node == "c" {
				return n.Role == cluster.Out && n.Code == "diverged" && strings.Contains(n.Error, "from event 1 on")
			}
		}
		return false
	})
}
