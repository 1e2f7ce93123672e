package server

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/monitor"
)

const sqlToken = "an-admin-token-of-32-characters!"

// askSQL asks a program and returns the status and the answer.
func askSQL(t *testing.T, api, statement string) (status int, answer monitor.SQLAnswer, text string) {
	t.Helper()
	question, err := json.Marshal(map[string]string{"sql": statement})
	if err != nil {
		t.Fatal(err)
	}
	status, text = postSQL(t, api, "/api/sql", string(question))
	_ = json.Unmarshal([]byte(text), &answer)
	return status, answer, text
}

func postSQL(t *testing.T, api, path, question string) (status int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+api+path, strings.NewReader(question))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+sqlToken)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// A server with the token answers SQL about what it has just stored, two queries at a time, and continues storing meanwhile.
func TestServerAnswersSQL(t *testing.T) {
	t.Parallel()
	p, ready := testProgram(t)
	p.opts.Getenv = func(name string) string {
		if name == monitor.AdminTokenVariable {
			return " " + sqlToken + "\n"
		}
		return ""
	}
	address, _ := starts(t, p, ready)
	api := address.String()
	add := func() int64 {
		r, err := p.log.Append(context.Background(), eventstore.StreamAppend{Stream: "test/own", Events: []eventstore.NewEvent{{Type: "note.made", AgentID: "main", Data: json.RawMessage(`{}`)}}})
		if err != nil {
			t.Fatal(err)
		}
		return r.Seq
	}
	seq := add()
	if status, answer, text := askSQL(t, api, "SELECT seq, agent_id FROM v_events WHERE type = 'note.made'"); status != http.StatusOK || answer.RowCount != 1 || answer.AsOfSeq < seq {
		t.Errorf("%d %s, want event %d", status, text, seq)
	}
	for _, c := range []struct {
		seq  int64
		want string
	}{{seq - 1, `"rows":[[0]]`}, {seq, `"rows":[[1]]`}} {
		path := "/api/sql?as_of=" + strconv.FormatInt(c.seq, 10)
		status, text := http.StatusAccepted, ""
		for status == http.StatusAccepted { // the tables are built
			status, text = postSQL(t, api, path, `{"sql":"SELECT count(*) FROM v_events WHERE type = :type","params":{"type":"note.made"}}`)
		}
		if status != http.StatusOK || !strings.Contains(text, c.want) {
			t.Errorf("as of %d: %d %s, want %s", c.seq, status, text, c.want)
		}
	}
	const endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
	var askers sync.WaitGroup
	codes := make(chan string, 4)
	for range cap(codes) {
		askers.Go(func() {
			_, _, text := askSQL(t, api, endless)
			var refused struct{ Code string }
			_ = json.Unmarshal([]byte(text), &refused)
			codes <- refused.Code
		})
	}
	if head := add(); head <= seq {
		t.Errorf("while it answers, event %d was stored after %d", head, seq)
	}
	askers.Wait()
	close(codes)
	count := map[string]int{}
	for code := range codes {
		count[code]++
	}
	if count["sql_timeout"] != 2 || count["sql_busy"] != 2 {
		t.Errorf("four endless questions ended as %v, want two sql_timeout and two sql_busy", count)
	}
	for _, statement := range []string{"DELETE FROM events", "PRAGMA query_only = 0", "VACUUM INTO '" + p.opts.StateDir + "/x'", "SELECT * FROM pragma_database_list"} {
		if status, _, text := askSQL(t, api, statement); status != http.StatusForbidden || !strings.Contains(text, "sql_refused") {
			t.Errorf("%s: %d %s", statement, status, text)
		}
	}
	const tables = " FROM sqlite_schema a, sqlite_schema b, sqlite_schema c, sqlite_schema d, sqlite_schema e"
	for _, statement := range []string{"SELECT json_group_array(a.sql)" + tables, "SELECT " + strings.Repeat("hex(zeroblob(1000000)), ", 400) + "1",
		"SELECT " + strings.Repeat("CAST(zeroblob(1000000) AS TEXT), ", 7) + "1"} {
		if status, _, text := askSQL(t, api, statement); status != http.StatusUnprocessableEntity || !strings.Contains(text, "sql_too_large") {
			t.Errorf("%.80s: %d %.300s, want that it is too large", statement, status, text)
		}
	}
	if _, err := p.log.Verify(t.Context(), true, nil); err != nil {
		t.Errorf("the log is not sound any more: %v", err)
	}
}

// Without the token there is no SQL.
func TestServerWithoutTokenAnswersNoSQL(t *testing.T) {
	t.Parallel()
	p, ready := testProgram(t)
	address, _ := starts(t, p, ready)
	if status, _, text := askSQL(t, address.String(), "SELECT 1"); status != http.StatusNotFound || !strings.Contains(text, monitor.AdminTokenVariable) {
		t.Errorf("%d %s, want 404 that names %s", status, text, monitor.AdminTokenVariable)
	}
}
