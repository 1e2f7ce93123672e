package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/testdata/sample"
)

// replayed is a server that follows the sample's log, and that log's commands.
type replayed struct {
	*team
	head int64
}

func startReplayed(t *testing.T) *replayed {
	t.Helper()
	m := &replayed{team: &team{dir: t.TempDir()}}
	if err := os.CopyFS(m.dir, sample.Files); err != nil {
		t.Fatal(err)
	}
	// Imported before, the lines are known when the server reads them. Only events about files come after them.
	logs, err := filepath.Glob(filepath.Join(m.dir, "logs", "*"))
	if err != nil {
		t.Fatal(err)
	}
	m.says(t, append([]string{"import"}, logs...)...)
	m.follow(t)
	t.Cleanup(func() { m.end(os.Kill) })
	var health struct{ Seq int64 }
	m.get(t, "/api/health", &health)
	m.head = health.Seq
	return m
}

// get asks until the answer is there, and returns its text.
func (m *replayed) get(t *testing.T, path string, into any) []byte {
	t.Helper()
	for {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, m.api+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err = errors.Join(err, response.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if response.StatusCode == http.StatusAccepted {
			continue
		}
		if response.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s: %s", path, response.Status, body)
		}
		if err := json.Unmarshal(body, into); err != nil {
			t.Fatalf("%s: %v in %s", path, err, body)
		}
		return body
	}
}

// says runs a command on the log and returns its output.
func (m *replayed) says(t *testing.T, args ...string) []byte {
	t.Helper()
	said := m.does(t, args...)
	if said.code != 0 {
		t.Fatalf("%q ends with %d: %s", args, said.code, said.stderr)
	}
	return []byte(said.stdout)
}

type object = map[string]any

func decoded(t *testing.T, text []byte) (o object) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&o); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return o
}

// TestTheAPIReplaysAsTheCommandsDo compares answers of the API with what openclawd replay diff and step print, at random points.
func TestTheAPIReplaysAsTheCommandsDo(t *testing.T) {
	t.Parallel()
	m := startReplayed(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 22))
	var answer any

	for _, c := range []struct{ a, b, table, limit string }{
		{"0", fmt.Sprint(m.head), "", "0"},
		{fmt.Sprint(dice.Int64N(m.head)), fmt.Sprint(1 + dice.Int64N(m.head)), "", "1000"},
		{fmt.Sprint(m.head - 3), fmt.Sprint(m.head), "work_sessions,threads", "2"},
		{fmt.Sprint(m.head), fmt.Sprint(m.head - 5), "", ""},
	} {
		args := []string{"replay", "diff", c.a, c.b, "--json"}
		query := url.Values{"a": {c.a}, "b": {c.b}}
		if c.table != "" {
			args = append(args, "--table", c.table)
			query.Set("table", c.table)
		}
		if c.limit != "" {
			args = append(args, "--limit", c.limit)
			query.Set("limit", c.limit)
		}
		got := decoded(t, m.get(t, "/api/replay/diff?"+query.Encode(), &answer))
		if cut := got["cut"]; cut != false {
			t.Errorf("from %s to %s rows are missing", c.a, c.b)
		}
		delete(got, "cut")
		delete(got, "subjects")
		if diff := cmp.Diff(decoded(t, m.says(t, args...)), got); diff != "" {
			t.Errorf("from %s to %s (-command +API):\n%s", c.a, c.b, diff)
		}
	}

	for range 3 {
		at, n := 1+dice.Int64N(m.head-8), 1+dice.Int64N(6)
		want := lines(t, m.says(t, "replay", "step", "--json", "--from", fmt.Sprint(at), "--to", fmt.Sprint(at+n-1)))
		steps := m.steps(t, fmt.Sprintf("at=%d&n=%d", at, n), int(n))
		if diff := cmp.Diff(want, steps); diff != "" {
			t.Errorf("%d steps from %d (-command +API):\n%s", n, at, diff)
		}
	}

	wrong := lines(t, m.says(t, "replay", "step", "--json", "--errors", "--to", fmt.Sprint(m.head)))
	if len(wrong) < 3 {
		t.Fatalf("the sample reports %d failures", len(wrong))
	}
	var found []object
	var previous, next any
	for at := json.Number("1"); ; {
		answered := decoded(t, m.get(t, "/api/replay/step?errors=true&n=50&at="+at.String(), &answer))
		for _, step := range answered["steps"].([]any) {
			found = append(found, plain(t, step.(object)))
		}
		previous = answered["previousError"]
		if next = answered["next"]; next == nil {
			break
		}
		at = next.(json.Number)
	}
	if diff := cmp.Diff(wrong, found); diff != "" {
		t.Errorf("failures (-command +API):\n%s", diff)
	}
	last := answeredSeq(wrong[len(wrong)-1])
	beyond := decoded(t, m.get(t, fmt.Sprintf("/api/replay/step?at=%d&errors=true", m.head+1), &answer))
	if beyond["previousError"] != last || beyond["nextError"] != nil || beyond["next"] != nil || len(beyond["steps"].([]any)) != 0 {
		t.Errorf("after the lines: %v, want the last failure, %s, before it and none after it; before the last page of failures was %v", beyond, last, previous)
	}
	m.wantPoints(t, wrong[0])
}

// A conversation that differs has the title of its work session: people know neither its key nor its id.
func TestConversationsThatDifferHaveTitles(t *testing.T) {
	t.Parallel()
	m := startReplayed(t)
	var diff struct {
		Subjects []struct{ Table, Text, WorkSessionID string }
	}
	m.get(t, fmt.Sprintf("/api/replay/diff?a=0&b=%d&table=threads,work_sessions&limit=1000", m.head), &diff)
	titles := map[string]string{}
	for _, s := range diff.Subjects {
		if s.Table == "work_sessions" {
			titles[s.WorkSessionID] = s.Text
		}
	}
	threads := 0
	for _, s := range diff.Subjects {
		if s.Table != "threads" {
			continue
		}
		if threads++; s.Text == "" || s.Text != titles[s.WorkSessionID] {
			t.Errorf("a conversation of %s is called %q, want %q", s.WorkSessionID, s.Text, titles[s.WorkSessionID])
		}
	}
	if threads < 10 {
		t.Errorf("%d conversations differ", threads)
	}
}

// steps are the steps of an answer, of which there must be n.
func (m *replayed) steps(t *testing.T, query string, n int) (list []object) {
	t.Helper()
	var answer any
	answered := decoded(t, m.get(t, "/api/replay/step?"+query, &answer))
	for _, step := range answered["steps"].([]any) {
		list = append(list, plain(t, step.(object)))
	}
	if len(list) != n {
		t.Fatalf("%s: %d steps, want %d", query, len(list), n)
	}
	return list
}

// plain is a step without what the API adds.
func plain(t *testing.T, step object) object {
	t.Helper()
	if total := step["changesTotal"].(json.Number); total.String() != strconv.Itoa(len(step["changes"].([]any))) {
		t.Errorf("%v of %v changes are listed", len(step["changes"].([]any)), total)
	}
	delete(step, "changesTotal")
	return step
}

func answeredSeq(step object) any { return step["event"].(object)["seq"] }

func lines(t *testing.T, text []byte) (list []object) {
	t.Helper()
	for line := range strings.Lines(string(text)) {
		list = append(list, decoded(t, []byte(line)))
	}
	return list
}

// wantPoints asks for the points of times around an event, which was recorded then.
func (m *replayed) wantPoints(t *testing.T, step object) {
	t.Helper()
	var last, before, none, named struct {
		Seq, RecordedAt int64
		Head            struct{ Seq int64 }
	}
	m.get(t, "/api/replay/point?at=head", &last)
	if last.Seq < m.head || last.Head.Seq != last.Seq || last.RecordedAt == 0 {
		t.Errorf("head is %+v, want at least %d", last, m.head)
	}
	recorded, err := step["event"].(object)["recordedAt"].(json.Number).Int64()
	if err != nil {
		t.Fatal(err)
	}
	m.get(t, fmt.Sprintf("/api/replay/point?time=%d", recorded), &before)
	m.get(t, "/api/replay/point?at="+url.QueryEscape(time.UnixMilli(recorded).UTC().Format(time.RFC3339Nano)), &named)
	m.get(t, "/api/replay/point?time=1990-01-01", &none)
	if before.RecordedAt != recorded || named != before || none.Seq != 0 || none.RecordedAt != 0 {
		t.Errorf("at %d: %+v, and by its name %+v; long before: %+v", recorded, before, named, none)
	}
}

// follow serves without agents, and waits until the API is there.
func (m *team) follow(t *testing.T) {
	t.Helper()
	m.server, m.output = program(t, "serve", "--follow", "--state-dir", m.dir, "--api", "127.0.0.1:0"), &bytes.Buffer{}
	m.server.Stderr = m.output
	out, err := m.server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.server.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			m.api = url
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return
		}
	}
	t.Fatalf("serve ended: %v\n%s", m.server.Wait(), m.output)
}
