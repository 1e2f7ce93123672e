package monitor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/budget"
	"github.com/pronto-lab/openclawd/monitor"
)

// fillWith appends events whose payloads are that large.
func (b *testBundle) fillWith(t testing.TB, events, bytes int) {
	t.Helper()
	text := strings.Repeat("리뷰 ", bytes/len("리뷰 "))
	for i := range events {
		_, err := b.db.Append(context.Background(), eventstore.StreamAppend{Stream: "x", Events: []eventstore.NewEvent{
			{Type: "a2a.send", AgentID: "ruda", Data: fmt.Appendf(nil, `{"n":%d,"message":%q}`, i, text)}}})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// askFor is what was answered, its body read and forgotten.
func askFor(t testing.TB, url string) (status int, code, retry string) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Error(err)
		return 0, "", ""
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		_, err = io.Copy(io.Discard, response.Body)
	} else {
		var problem struct{ Code string }
		err = json.NewDecoder(response.Body).Decode(&problem)
		code = problem.Code
	}
	if err != nil {
		t.Error(err)
	}
	return response.StatusCode, code, response.Header.Get("Retry-After")
}

// While others hold the whole read budget, a large read gets a retry hint, and small ones are answered.
func TestReadsThatDoNotFitAreToldToComeAgain(t *testing.T) {
	t.Parallel()
	reads := budget.New(8 << 20)
	b := setup(t, func(o *monitor.Options) { o.Reads = reads })
	b.fillWith(t, 3, 1<<20)
	b.fillWith(t, 1, 1<<10)
	others := reads.Open()
	others.Keep(16 << 20)
	for _, path := range []string{"/api/events?limit=1000", "/api/events?limit=2"} {
		if status, code, retry := askFor(t, b.url+path); status != http.StatusServiceUnavailable || code != "read_busy" || retry != "1" {
			t.Errorf("%s: %d %s, again after %q, want 503 read_busy after 1", path, status, code, retry)
		}
	}
	for _, path := range []string{"/api/events?limit=1", "/api/status", "/healthz"} {
		if status, code, _ := askFor(t, b.url+path); status != http.StatusOK {
			t.Errorf("%s: %d %s, want 200: it is small", path, status, code)
		}
	}
	others.Close()
	if status, code, _ := askFor(t, b.url+"/api/events?limit=1000"); status != http.StatusOK {
		t.Errorf("%d %s after the others have ended, want 200", status, code)
	}
	if held := reads.Used(); held != 0 {
		t.Errorf("%d bytes are held when all has been written", held)
	}
}

// A large payload is charged for each time that it is in memory while the answer is made, not for what is read of it alone.
func TestReadsAreChargedForRendering(t *testing.T) {
	t.Parallel()
	const most, payload = 16 << 20, 1 << 20
	reads := budget.New(most)
	b := setup(t, func(o *monitor.Options) { o.Reads, o.MaxWait = reads, 10*time.Millisecond })
	b.fillWith(t, 1, payload)
	for _, c := range []struct {
		times  int64 // the payload for which the others leave room
		status int
	}{{7, http.StatusServiceUnavailable}, {9, http.StatusOK}} {
		others := reads.Open()
		others.Keep(most - c.times*payload + 2*budget.Free) // what is free to the others and to the read does not count
		if status, code, _ := askFor(t, b.url+"/api/events?limit=1"); status != c.status {
			t.Errorf("%d %s where %d times the payload has room, want %d", status, code, c.times, c.status)
		}
		others.Close()
	}
}

// askAtOnce asks a path from so many clients at a time, and counts the answers by status.
func askAtOnce(t testing.TB, url string, clients int) map[int]int {
	var all sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	for range clients {
		all.Go(func() {
			status, _, _ := askFor(t, url)
			mu.Lock()
			defer mu.Unlock()
			statuses[status]++
		})
	}
	all.Wait()
	return statuses
}
