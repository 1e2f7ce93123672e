package sessions_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

func keysOf(list []sessions.Session) (keys []string) {
	for _, s := range list {
		keys = append(keys, strings.TrimPrefix(s.Key, "agent:"))
	}
	return keys
}

func TestList(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.append(t,
		event(10, "patched", `"sessionKey":"agent:eden:main","sessionId":"aa-1","set":{"label":"배포 One"}`),
		event(20, "created", `"sessionKey":"agent:seum:main","sessionId":"bb-2"`),
		event(30, "created", `"sessionKey":"agent:eden:subagent:u1","sessionId":"cc-3","parentSessionKey":"agent:eden:main"`),
		event(30, "created", `"sessionKey":"agent:eden:subagent:u2","sessionId":"dd-4","parentSessionKey":"agent:seum:main"`),
		event(40, "created", `"sessionKey":"global","sessionId":"ee-5"`),
		event(50, "created", `"sessionKey":"unknown","sessionId":"ff-6"`),
		event(60, "message", `"sessionKey":"agent:seum:main","author":"user","text":"Review the Deployment"`),
	)
	for name, c := range map[string]struct {
		query sessions.Query
		want  string
	}{
		"all, the last changed first":       {sessions.Query{}, "seum:main eden:subagent:u1 eden:subagent:u2 eden:main"},
		"global":                            {sessions.Query{Global: true}, "seum:main global eden:subagent:u1 eden:subagent:u2 eden:main"},
		"unknown":                           {sessions.Query{Unknown: true, Limit: 2}, "seum:main unknown"},
		"limit":                             {sessions.Query{Limit: 2}, "seum:main eden:subagent:u1"},
		"agent":                             {sessions.Query{Agent: "Eden"}, "eden:subagent:u1 eden:subagent:u2 eden:main"},
		"unheard of agent":                  {sessions.Query{Agent: "stranger"}, ""},
		"spawner":                           {sessions.Query{Spawner: "agent:eden:main"}, "eden:subagent:u1"},
		"label":                             {sessions.Query{Label: "배포 One"}, "eden:main"},
		"label in another case":             {sessions.Query{Label: "배포 one"}, ""},
		"label of another agent":            {sessions.Query{Label: "배포 One", Agent: "seum"}, ""},
		"since":                             {sessions.Query{Since: base + 30}, "seum:main eden:subagent:u1 eden:subagent:u2"},
		"label since":                       {sessions.Query{Label: "배포 One", Since: base + 11}, ""},
		"search in labels":                  {sessions.Query{Search: "ONE"}, "eden:main"},
		"search in keys":                    {sessions.Query{Search: "Subagent"}, "eden:subagent:u1 eden:subagent:u2"},
		"search in ids":                     {sessions.Query{Search: "B-2"}, "seum:main"},
		"search in titles":                  {sessions.Query{Search: "the deploy"}, "seum:main"},
		"search in Korean":                  {sessions.Query{Search: "배포"}, "eden:main"},
		"search as a Mac writes":            {sessions.Query{Search: "\u1107\u1162\u1111\u1169"}, "eden:main"},
		"search across two names":           {sessions.Query{Search: "one\x1fagent:eden"}, ""},
		"search in vain":                    {sessions.Query{Search: "nowhere"}, ""},
		"offset":                            {sessions.Query{Offset: 1, Limit: 2}, "eden:subagent:u1 eden:subagent:u2"},
		"offset without limit":              {sessions.Query{Offset: 3}, "eden:main"},
		"offset behind the last":            {sessions.Query{Offset: 9, Limit: 1}, ""},
		"offset in a search":                {sessions.Query{Search: "main", Offset: 1, Limit: 1}, "eden:main"},
		"search ends before the limit does": {sessions.Query{Search: "main", Limit: 1, Global: true}, "seum:main"},
	} {
		if got := strings.Join(keysOf(l.list(t, c.query)), " "); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		all := c.query
		all.Offset, all.Limit = 0, 0
		total := projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) (int, error) { return sessions.Total(ctx, tx, c.query) })
		if want := len(l.list(t, all)); total != want {
			t.Errorf("%s: %d in all, want %d", name, total, want)
		}
	}
	counts := projectiontest.Read(t, l, sessions.Count)
	if diff := cmp.Diff(map[string]int64{"eden": 3, "seum": 1, "": 2}, counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	byID := func(id string) *sessions.Session {
		return projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) (*sessions.Session, error) { return sessions.ByID(ctx, tx, id) })
	}
	byLabel := func(label, agent string) []sessions.Session {
		return projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) ([]sessions.Session, error) {
			return sessions.ByLabel(ctx, tx, label, agent)
		})
	}
	if s := byID("bb-2"); s == nil || s.Key != "agent:seum:main" || s.Title != "Review the Deployment" {
		t.Errorf("by id: %+v", s)
	}
	if byID("nope") != nil || l.byKey(t, "agent:nope:main") != nil || len(byLabel("nope", "")) > 0 || len(byLabel("배포 One", "seum")) > 0 {
		t.Error("found what is not there")
	}
	if s := byLabel("배포 One", "Eden"); len(s) != 1 || s[0].Key != "agent:eden:main" {
		t.Errorf("by label: %+v", s)
	}
	l.append(t, event(70, "reset", `"sessionKey":"agent:seum:main","sessionId":"gg-7"`))
	if byID("bb-2") != nil || byID("gg-7") == nil {
		t.Error("a transcript that was left is still a session, or the next is none")
	}
}

// While Changed stays the same, so does every list; what changes a list changes it.
func TestChangedTellsWhetherListsDid(t *testing.T) {
	t.Parallel()
	l := setup(t)
	changed := func() int64 { return projectiontest.Read(t, l, sessions.Changed) }
	if got := changed(); got != 0 {
		t.Errorf("nothing changed at %d", got)
	}
	l.append(t, event(1, "created", `"sessionKey":"agent:eden:a","sessionId":"a"`), event(2, "created", `"sessionKey":"agent:seum:b","sessionId":"b"`))
	for _, c := range []struct {
		typ, data string
		changes   bool
	}{
		{"message", `"sessionKey":"agent:eden:a","author":"user","text":"hi"`, true},
		{"patched", `"sessionKey":"agent:eden:a","set":{"label":"x"}`, true},
		{"reset", `"sessionKey":"agent:eden:a","sessionId":"a2"`, true},
		{"message", `"sessionKey":"agent:eden:a","sessionId":"a","author":"user","text":"late"`, false},
		{"deleted", `"sessionKey":"agent:eden:a"`, true}, // it was changed later than the one that is left
		{"deleted", `"sessionKey":"agent:eden:a"`, false},
		{"created", `"sessionKey":"agent:seum:b","sessionId":"b"`, false},
		{"deleted", `"sessionKey":"agent:seum:b"`, true},
	} {
		before, listed := changed(), l.list(t, sessions.Query{})
		stored := l.append(t, event(9, c.typ, c.data))
		after := changed()
		if same := cmp.Equal(listed, l.list(t, sessions.Query{})); same == c.changes || (after != before) != c.changes {
			t.Errorf("%s %s: changed at %d, before at %d, the same list: %v", c.typ, c.data, after, before, same)
		}
		if c.changes && after != stored.Seq {
			t.Errorf("%s %s: changed at %d, not at %d", c.typ, c.data, after, stored.Seq)
		}
	}
}

func TestNewestMessages(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.append(t, event(1, "created", created))
	for i := range 5 {
		l.append(t, say(int64(2+i), "main", "user", fmt.Sprintf("%d %s", i, strings.Repeat("x", 100)), `"content":[{"type":"text"}],"usage":{"input":1,"output":2,"total":3}`))
	}
	size := len(say(0, "main", "user", "0 "+strings.Repeat("x", 100), `"content":[{"type":"text"}],"usage":{"input":1,"output":2,"total":3}`).Data)
	for _, c := range []struct{ limit, maxBytes, from int }{
		{10, 1 << 20, 0}, {5, 5 * size, 0}, {5, 5*size - 1, 1}, {2, 1 << 20, 3}, {2, size, 4}, {2, 1, 4}, {1, 0, 4},
	} {
		got := l.newest(t, "t1", c.limit, c.maxBytes)
		if len(got) != 5-c.from {
			t.Errorf("%+v: %d messages", c, len(got))
			continue
		}
		for i, m := range got {
			n := c.from + i
			if m.Seq != int64(2+n) || m.At != base+int64(2+n) || m.Redacted || !strings.HasPrefix(m.Data.Text, fmt.Sprint(n, " x")) ||
				string(m.Data.Content) != `[{"type":"text"}]` || *m.Data.Usage != (coordination.SessionUsage{Input: 1, Output: 2, Total: 3}) {
				t.Errorf("%+v: message %d is %+v", c, i, m)
			}
		}
	}
	if got := l.newest(t, "t2", 10, 1000); got != nil {
		t.Errorf("of no transcript: %+v", got)
	}
	l.append(t, event(9, "deleted", `"sessionKey":"agent:eden:main"`))
	if got := l.newest(t, "t1", 10, 1000); got != nil {
		t.Errorf("of a deleted transcript: %+v", got)
	}
}

// What agents say to each other in a session is in its transcript, and not in what people are shown: neither as a message, nor as its title or last
// text. Each message knows its place all the same.
func TestShownLeavesOutWhatIsInternal(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.append(t, event(1, "created", created), say(2, "main", "user", "[seum]: 어때?", `"internal":true`), say(3, "main", "user", "안녕"),
		say(4, "main", "assistant", "네"), say(5, "main", "user", "[seum]: 왜?", `"internal":true`), say(6, "main", "assistant", "REPLY_SKIP", `"internal":true`))
	reader := sessions.NewCache(1<<20, l.Mark).Open()
	shown := projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) ([]sessions.Message, error) {
		return reader.Shown(ctx, tx, "t1", 2, 1<<20)
	})
	var got []string
	for _, m := range shown {
		got = append(got, fmt.Sprint(m.Data.Text, " ", m.After))
	}
	if diff := cmp.Diff([]string{"안녕 3", "네 2"}, got); diff != "" {
		t.Errorf("shown (-want +got)\n%s", diff)
	}
	if all := l.newest(t, "t1", 10, 1<<20); len(all) != 5 {
		t.Errorf("%d messages are in the transcript, want 5", len(all))
	}
	if s := l.byKey(t, "agent:eden:main"); s.Messages != 5 || s.Title != "안녕" || s.LastText != "네" || s.LastRole != "assistant" {
		t.Errorf("the session is %+v", s)
	}
}

// What was redacted is gone from transcripts at once, from titles and last texts with the next rebuild, and stays a message.
func TestRedactedMessages(t *testing.T) {
	t.Parallel()
	l := setup(t)
	for i, data := range []string{
		`"author":"user","text":"secret one"`, `"author":"assistant","text":"secret two"`,
	} {
		stream := coordination.SessionStream(coordination.MainKey("eden"))
		if _, err := l.Append(t.Context(), inStream(stream, event(int64(i+1), "message", `"sessionKey":"agent:eden:main",`+data))); err != nil {
			t.Fatal(err)
		}
	}
	id := l.byKey(t, "agent:eden:main").ID
	for seq := range int64(2) {
		if err := l.Redact(t.Context(), seq+1); err != nil {
			t.Fatal(err)
		}
	}
	check := func(title, last string) {
		t.Helper()
		for _, m := range l.newest(t, id, 10, 1000) {
			if !m.Redacted || m.Data.Text != "" || m.At == 0 {
				t.Errorf("%+v", m)
			}
		}
		if s := l.byKey(t, "agent:eden:main"); s == nil || s.ID != id || s.Messages != 2 || s.Title != title || s.LastText != last {
			t.Errorf("%+v", s)
		}
	}
	check("secret one", "secret two")
	if err := l.engine.Rebuild(t.Context(), projections.RebuildOptions{}); err != nil {
		t.Fatal(err)
	}
	check("", "")
}

// Views show what people ask for under names that stay.
func TestViews(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.append(t,
		event(1, "patched", created+`,"set":{"label":"x","model":"fake/echo-1"}`), say(2, "main", "user", "hi"),
		event(3, "reset", `"sessionKey":"agent:eden:main","sessionId":"t2","reason":"new"`), say(4, "main", "assistant", "ho"),
		event(5, "created", `"sessionKey":"agent:seum:main","sessionId":"t3"`), event(6, "deleted", `"sessionKey":"agent:seum:main"`),
	)
	for query, want := range map[string]string{
		`SELECT key, label, settings ->> '$.model', messages, last_text, updated_at FROM v_sessions`:                  "agent:eden:main x fake/echo-1 1 ho 2026-09-21T14:13:20.004Z",
		`SELECT session_id, present, messages, closed, closed_at, key FROM v_session_transcripts ORDER BY seq`:        "t1 0 1 new 2026-09-21T14:13:20.003Z agent:eden:main t2 1 1 <nil> <nil> agent:eden:main",
		`SELECT session_id, author, text, at, seq FROM v_session_messages WHERE key = 'agent:eden:main' ORDER BY seq`: "t1 user hi 2026-09-21T14:13:20.002Z 2 t2 assistant ho 2026-09-21T14:13:20.004Z 4",
	} {
		if got := strings.Join(l.rows(t, query), " "); got != want {
			t.Errorf("%s\n got %s\nwant %s", query, got, want)
		}
	}
}

// rows gives all values of all rows.
func (l *log) rows(t testing.TB, query string) []string {
	t.Helper()
	return projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) (values []string, err error) {
		rows, err := tx.QueryContext(ctx, query)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		names, err := rows.Columns()
		if err != nil {
			return nil, err
		}
		row, into := make([]any, len(names)), make([]any, len(names))
		for i := range row {
			into[i] = &row[i]
		}
		for rows.Next() {
			if err := rows.Scan(into...); err != nil {
				return nil, err
			}
			for _, v := range row {
				values = append(values, fmt.Sprint(v))
			}
		}
		return values, rows.Err()
	})
}
