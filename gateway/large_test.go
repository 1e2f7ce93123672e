package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

func TestHistoryIsBoundedAsAWhole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	block := `{"type":"text","text":"` + strings.Repeat("x", 11_000) + `"}`
	b.say(t, "agent:eden:s1", numbered(68, `"author":"assistant","text":"%d","content":[`+strings.Repeat(block+",", 8)+block+`]`)...)
	body := b.answer(t, "chat.history", `{"sessionKey":"agent:eden:s1","limit":1000}`)
	var got history
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	if n := len(got.Messages); len(body) > 6<<20+1_000 || len(body) < 5<<20 || n >= 68 {
		t.Errorf("%d bytes, %d messages", len(body), n)
	}
}

// With any number of sessions an answer fits into a frame; it says what it omits.
func TestListIsBoundedAndSaysSo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const page = 100
	b.server.BoundLists(page, 1<<20)
	b.createSessions(t, page+1)
	for _, params := range []string{`{}`, `{"limit":9007199254740991}`, `{"search":"eden"}`} {
		got := want[list](t, b, "sessions.list", params)
		if got.Count != page || len(got.Sessions) != page || got.TotalCount != page+1 || !got.HasMore || !got.Truncated || got.LimitApplied != page ||
			got.NextOffset == nil || *got.NextOffset != page {
			t.Errorf("%s: %d rows, count %d of %d, more %v", params, len(got.Sessions), got.Count, got.TotalCount, got.HasMore)
		}
	}
	if got := want[list](t, b, "sessions.list", `{"limit":2}`); got.Count != 2 || got.TotalCount != 0 || got.HasMore || got.Truncated {
		t.Errorf("who asked for 2 rows has got %d and is told of %d", got.Count, got.TotalCount)
	}
	if rest := want[list](t, b, "sessions.list", `{"offset":100}`); rest.Count != 1 || rest.HasMore {
		t.Errorf("a client of protocol 3 cannot go on: %+v", rest.Count)
	}
	b.protocol = 4
	for _, params := range []string{`{"offset":100}`, `{"offset":100,"search":"s"}`, `{"offset":100,"activeMinutes":1}`} {
		if got := want[list](t, b, "sessions.list", params); got.Count != 1 || got.TotalCount != page+1 || got.HasMore || got.Offset != page {
			t.Errorf("%s: %d rows of %d from %d", params, got.Count, got.TotalCount, got.Offset)
		}
	}
	if got := want[list](t, b, "sessions.list", `{"offset":6000}`); got.Count != 0 || got.TotalCount != page+1 || got.Offset != page+1 || got.HasMore {
		t.Errorf("behind the last: %d rows of %d from %d", got.Count, got.TotalCount, got.Offset)
	}
}

// createSessions creates sessions of one agent.
func (b *bundle) createSessions(t testing.TB, n int) {
	t.Helper()
	for from := 0; from < n; from += 1_000 {
		a := eventstore.StreamAppend{Stream: "log"}
		for i := from; i < min(from+1_000, n); i++ {
			a.Events = append(a.Events, eventstore.NewEvent{Type: coordination.TypeSessionCreated,
				Data: fmt.Appendf(nil, `{"sessionKey":"agent:eden:s%d","sessionId":"t%d"}`, i, i)}.WithTS(b.now.Load()))
		}
		if _, err := b.db.Append(context.Background(), a); err != nil {
			t.Fatal(err)
		}
	}
}

// A client of protocol 3 that asks for all sessions gets all of them: it does not know pages.
func TestListOfManySessionsIsWhole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const n = 5_001
	b.createSessions(t, n)
	if got := want[list](t, b, "sessions.list", `{}`); got.Count != n || len(got.Sessions) != n || got.HasMore || got.Truncated {
		t.Errorf("%d rows, count %d of %d, more %v", len(got.Sessions), got.Count, n, got.HasMore)
	}
}

// Rows that are too large together are left out, and the answer says where to go on.
func TestListIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const n = 50
	b.createSessions(t, n)
	b.server.BoundLists(1_000, 2_000)
	for seen := 0; seen < n; {
		got := want[list](t, b, "sessions.list", fmt.Sprintf(`{"offset":%d}`, seen))
		more := seen+got.Count < n
		if got.Count == 0 || got.Count == n || got.HasMore != more || got.Truncated != more || more && (got.TotalCount != n || *got.NextOffset != seen+got.Count) {
			t.Fatalf("from %d: %d rows of %d, more %v, truncated %v", seen, got.Count, got.TotalCount, got.HasMore, got.Truncated)
		}
		seen += got.Count
	}
}
