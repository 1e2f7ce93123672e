// Package monitortest records the API's answers at one moment, and later compares them with the answers as of that
// moment.
package monitortest

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Ask requests a path with its query.
type Ask func(path string) (status int, header http.Header, body []byte)

// Recording holds the answers of all reads when the log ended with event Seq.
type Recording struct {
	Seq     int64
	answers []answer
}

type answer struct {
	path   string
	status int
	body   []byte
}

// OnlyNow are the reads without an answer as of an event, as listed by GET /api.
func OnlyNow() []string {
	return []string{"GET /api/health", "GET /api/status", "GET /healthz", "GET /readyz", "GET /metrics", "GET /api/milestones", "GET /api/milestones/*",
		"GET /api/discord/bots", "GET /api/mcp/servers", "GET /api/tools/rights", "GET /api/channels", "GET /api/channels/:channel/bots", "GET /api/sql/schema", "GET /api/backups", "GET /api/files/:sha256", "GET /api/config/check", "GET /api/config/effective",
		"GET /api/replay/diff", "GET /api/replay/step", "GET /api/replay/point", "GET /ws", "GET /debug/pprof/:name"}
}

func queries(path string) []string {
	switch path {
	case "/api/events":
		return []string{"limit=3", "scope=all", "scope=all&limit=2&after=1", "role=conversation.main", "scope=all&agent=eden&limit=5", "scope=all&isError=true",
			"workSession=ws_golden&scope=all&limit=7"}
	case "/api/events/histogram":
		return []string{"buckets=7&by=type", "buckets=500&by=agent"}
	case "/api/work-sessions":
		return []string{"limit=1", "scope=all&include=summary", "status=ACTIVE,QUIET"}
	case "/api/tasks", "/api/runs", "/api/a2a/jobs", "/api/a2a/handoffs", "/api/routing", "/api/discord/threads", "/api/discord/posts", "/api/collaborations",
		"/api/work", "/api/discord/observed":
		return []string{"limit=1"}
	case "/api/approvals":
		return []string{"limit=1", "state=decided"}
	case "/api/pairings":
		return []string{"limit=1", "state=approved", "channel=telegram&state=revoked"}
	case "/api/schedules":
		return []string{"limit=1", "enabled=true"}
	case "/api/tools/calls":
		return []string{"limit=1", "state=unknown", "state=ok&limit=2"}
	case "/api/owed":
		return []string{"limit=1", "open=false", "kind=flow"}
	case "/api/problems":
		return []string{"limit=1&kind=dead,blocked,no_reply,escalated,backoff,stuck_run,overdue,suspended"}
	case "/api/a2a/policy":
		return []string{"from=eden&to=seum", "from=seum&to=eden", "from=eden&to=unknown"}
	case "/api/a2a/policy/matrix":
		return []string{"from=seum"}
	}
	if id, is := strings.CutPrefix(path, "/api/work-sessions/"); is && !strings.Contains(id, "/") {
		return []string{"limit=2", "limit=2&after=1&scope=all"}
	}
	return nil
}

// Record requests everything that GET /api lists, including pages of lists, for all ids. words are search terms. The
// log should be idle; otherwise everything is requested again.
func Record(t testing.TB, ask Ask, words ...string) *Recording {
	t.Helper()
	for range 20 {
		r := &Recording{Seq: head(t, ask)}
		r.ask(t, ask, words)
		if head(t, ask) == r.Seq {
			return r
		}
	}
	t.Fatal("the log keeps changing")
	return nil
}

func head(t testing.TB, ask Ask) int64 {
	t.Helper()
	_, header, _ := ask("/api")
	seq, err := strconv.ParseInt(header.Get("X-As-Of-Seq"), 10, 64)
	if err != nil {
		t.Fatalf("GET /api does not give the log's position: %v", err)
	}
	return seq
}

func (r *Recording) ask(t testing.TB, ask Ask, words []string) {
	t.Helper()
	for _, path := range []string{"/", "/api"} {
		r.add(t, ask, path)
	}
	known := r.ids(t, ask)
	for _, route := range Routes(t, ask) {
		if slices.Contains(OnlyNow(), "GET "+route) {
			continue
		}
		for _, path := range expanded(t, route, known) {
			if strings.HasSuffix(route, "/search") {
				for _, word := range words {
					q := url.Values{"q": {word}, "min_seq": {strconv.FormatInt(r.Seq, 10)}}.Encode()
					r.pages(t, ask, path+"?"+q)
					r.add(t, ask, path+"?"+q+"&limit=1")
					r.add(t, ask, path+"?"+q+"&limit=1&offset=1&scope=all")
				}
				continue
			}
			r.pages(t, ask, path)
			for _, q := range queries(path) {
				r.pages(t, ask, path+"?"+q)
			}
		}
	}
}

// Routes are the reads that GET /api lists.
func Routes(t testing.TB, ask Ask) (paths []string) {
	t.Helper()
	var described struct{ Endpoints []string }
	decode(t, ask, "/api", &described)
	for _, shown := range described.Endpoints {
		if path, reads := strings.CutPrefix(shown, "GET "); reads {
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 {
		t.Fatal("GET /api lists nothing")
	}
	return paths
}

// ids are the values for path parameters, by the path up to them; each list includes an unknown one.
func (r *Recording) ids(t testing.TB, ask Ask) map[string][]string {
	t.Helper()
	known := map[string][]string{}
	for path, key := range map[string]string{"/api/work-sessions": "workSessionId", "/api/agents": "id", "/api/tasks": "id", "/api/approvals": "id",
		"/api/a2a/jobs": "jobId", "/api/routing": "messageId", "/api/collaborations": "collabId", "/api/runs": "runId", "/api/schedules": "id", "/api/redactions": "id"} {
		ids := map[string]bool{}
		_, _, body := ask(path + "?limit=1000")
		each(body, key, func(id string) { ids[id] = true })
		known[path] = append(some(slices.Sorted(maps.Keys(ids))), "nothing")
	}
	known["/api/events"] = []string{"1", "2", strconv.FormatInt(r.Seq, 10), "0"}
	known["/api/channels"] = []string{"discord", "slack", "all", "nothing"}
	known["/api/trace"] = slices.Concat(known["/api/work-sessions"], known["/api/a2a/jobs"], known["/api/runs"], []string{"1"})
	return known
}

// some picks a few ids spread over the list.
func some(ids []string) (few []string) {
	const most = 6
	for i := range min(most, len(ids)) {
		few = append(few, ids[i*len(ids)/min(most, len(ids))])
	}
	return few
}

// each visits every string under a key.
func each(body []byte, key string, visit func(string)) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	found := false
	for {
		token, err := decoder.Token()
		if err != nil {
			return
		}
		text, is := token.(string)
		if is && found && text != "" {
			visit(text)
		}
		found = is && text == key && !found
	}
}

// expanded are a route's paths with ids inserted.
func expanded(t testing.TB, route string, known map[string][]string) []string {
	t.Helper()
	before, name, has := strings.Cut(route, "/:")
	if !has {
		return []string{route}
	}
	_, rest, _ := strings.Cut(name, "/")
	if rest != "" {
		rest = "/" + rest
	}
	ids := known[before]
	if strings.HasSuffix(before, "/tasks") && strings.HasPrefix(before, "/api/agents/") {
		ids = known["/api/tasks"]
	}
	if len(ids) == 0 {
		t.Fatalf("no ids known for %s", route)
	}
	var paths []string
	for _, id := range ids {
		paths = append(paths, expanded(t, before+"/"+url.PathEscape(id)+rest, known)...)
	}
	return paths
}

// pages requests a list with its following pages; anything else has one.
func (r *Recording) pages(t testing.TB, ask Ask, path string) {
	t.Helper()
	const most = 4
	next := path
	for range most {
		var list struct{ NextCursor *string }
		if json.Unmarshal(r.add(t, ask, next), &list) != nil || list.NextCursor == nil {
			return
		}
		join := "?"
		if strings.Contains(path, "?") {
			join = "&"
		}
		next = path + join + "cursor=" + url.QueryEscape(*list.NextCursor)
	}
}

func (r *Recording) add(t testing.TB, ask Ask, path string) []byte {
	t.Helper()
	status, _, body := ask(path)
	if status >= http.StatusInternalServerError {
		t.Fatalf("GET %s: %d %.300s", path, status, body)
	}
	r.answers = append(r.answers, answer{path, status, body})
	return body
}

// Found is the number of recorded answers that contain something.
func (r *Recording) Found() (n int) {
	for i := range r.answers {
		if r.answers[i].status == http.StatusOK {
			n++
		}
	}
	return n
}

// Check repeats all requests as of the event and reports differences. Below unknown they must answer 400 with code
// as_of_not_supported, unless they are refused as they were then.
func (r *Recording) Check(t testing.TB, ask Ask, unknown ...string) {
	t.Helper()
	differs := 0
	for i := range r.answers {
		a := &r.answers[i]
		status, header, body := AsOf(t, ask, a.path, r.Seq)
		path, _, _ := strings.Cut(a.path, "?")
		same := status == a.status && bytes.Equal(body, a.body)
		if path == "/api/problems" && status == http.StatusOK && !same {
			same = sameProblems(t, body, a.body)
		}
		if path == "/api/schedules" && !same { // whether jobs are started was not recorded
			same = status == a.status && bytes.Equal(body, bytes.Replace(a.body, []byte(`"on":true`), []byte(`"on":null`), 1))
		}
		switch {
		case same && status >= http.StatusBadRequest:
		case slices.ContainsFunc(unknown, func(below string) bool { return path == below || strings.HasPrefix(path, below+"/") }):
			wantNotThen(t, a.path, status, body)
		case !same:
			differs++
			t.Errorf("GET %s as of %d:\n%d %s\nthen it was\n%d %s", a.path, r.Seq, status, body, a.status, a.body)
		case header.Get("X-As-Of-Seq") != strconv.FormatInt(r.Seq, 10):
			t.Errorf("GET %s as of %d: X-As-Of-Seq is %q", a.path, r.Seq, header.Get("X-As-Of-Seq"))
		}
		if differs == 5 {
			t.Fatal("and so on")
		}
	}
	for _, shown := range OnlyNow() {
		path := strings.ReplaceAll(strings.TrimPrefix(shown, "GET "), "*", "m1")
		status, _, body := ask(path + "?as_of=" + strconv.FormatInt(r.Seq, 10))
		wantNotThen(t, path, status, body)
	}
}

func wantNotThen(t testing.TB, path string, status int, body []byte) {
	t.Helper()
	var refused struct{ Code, Field, Error, Hint string }
	if err := json.Unmarshal(body, &refused); err != nil || status != http.StatusBadRequest || refused.Code != "as_of_not_supported" ||
		refused.Field != "as_of" || refused.Error == "" || refused.Hint == "" {
		t.Errorf("GET %s as of an event: %d %.300s, want it refused with a reason", path, status, body)
	}
}

// sameProblems compares two lists of problems by what the log has: without actions, and without the kinds that are
// unknown in the past.
func sameProblems(t testing.TB, past, then []byte) bool {
	t.Helper()
	type list struct {
		Problems []map[string]any
		Counts   map[string]int
		Unknown  []string
		AsOfSeq  int64
	}
	var lists [2]list
	for i, body := range [][]byte{past, then} {
		if err := json.Unmarshal(body, &lists[i]); err != nil {
			t.Fatalf("GET /api/problems: %v in %.300s", err, body)
		}
	}
	unknown := lists[0].Unknown
	for i := range lists {
		l := &lists[i]
		l.Unknown = nil
		l.Problems = slices.DeleteFunc(l.Problems, func(p map[string]any) bool {
			delete(p, "actions")
			return slices.Contains(unknown, p["kind"].(string))
		})
		for _, kind := range unknown {
			delete(l.Counts, kind)
		}
	}
	return reflect.DeepEqual(lists[0], lists[1])
}

// AsOf requests as of an event, repeatedly while the snapshot is being built.
func AsOf(t testing.TB, ask Ask, path string, seq int64) (status int, header http.Header, body []byte) {
	t.Helper()
	join := "?"
	if strings.Contains(path, "?") {
		join = "&"
	}
	for {
		status, header, body = ask(path + join + "as_of=" + strconv.FormatInt(seq, 10))
		if status != http.StatusAccepted {
			return status, header, body
		}
		var making struct {
			Code        string
			AsOf        int64
			Done, Total *int64
		}
		if err := json.Unmarshal(body, &making); err != nil || making.Code != "building" || making.AsOf != seq || making.Done == nil || making.Total == nil ||
			header.Get("Retry-After") != "1" || header.Get("X-As-Of-Seq") != strconv.FormatInt(seq, 10) {
			t.Fatalf("GET %s as of %d, not ready: %s %v", path, seq, body, header)
		}
	}
}

func decode(t testing.TB, ask Ask, path string, into any) {
	t.Helper()
	status, _, body := ask(path)
	if err := json.Unmarshal(body, into); err != nil || status != http.StatusOK {
		t.Fatalf("GET %s: %d %.300s", path, status, body)
	}
}
