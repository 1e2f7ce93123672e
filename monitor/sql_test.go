package monitor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/sqlite/console"
	"github.com/pronto-lab/openclawd/monitor"
)

const adminToken = "an-admin-token-of-32-characters!"

// asked is a console on the file of a bundle, opened when it is first asked.
type asked struct {
	path  func() string
	state *sqlite.Scratch // in place of the file; nil: the file
}

func (a asked) Query(ctx context.Context, q monitor.SQLQuestion) (monitor.SQLAnswer, error) {
	c, err := console.Open(ctx, a.path(), console.Limits{})
	if err != nil {
		return monitor.SQLAnswer{}, err
	}
	if a.state != nil {
		c = c.Past(a.state)
	}
	rows := &sqlRows{answer: monitor.SQLAnswer{Columns: []monitor.SQLColumn{}, Rows: []json.RawMessage{}}}
	result, err := c.Query(ctx, console.Question{SQL: q.Statement, Rows: q.Limit, Params: console.Params{List: q.List, Named: q.Named}}, rows)
	rows.answer.RowCount, rows.answer.Truncated = result.Rows, result.Truncated
	return rows.answer, err
}

func (a asked) Schema(ctx context.Context) ([]monitor.SQLTable, error) {
	c, err := console.Open(ctx, a.path(), console.Limits{})
	if err != nil {
		return nil, err
	}
	tables, err := c.Schema(ctx)
	list := make([]monitor.SQLTable, len(tables))
	for i, t := range tables {
		list[i] = monitor.SQLTable{Name: t.Name, Kind: t.Kind, Doc: t.Doc, Columns: []monitor.SQLColumnDoc{}}
	}
	return list, err
}

type sqlRows struct{ answer monitor.SQLAnswer }

func (r *sqlRows) Head(columns []console.Column) error {
	for _, c := range columns {
		r.answer.Columns = append(r.answer.Columns, monitor.SQLColumn{Name: c.Name, Type: c.Type})
	}
	return nil
}

func (r *sqlRows) Row(values []any) error {
	r.answer.Rows = append(r.answer.Rows, console.AppendRow(nil, values))
	return nil
}

// withSQL serves a log that people with the token may ask.
func withSQL(t *testing.T, change ...func(*monitor.Options)) *testBundle {
	t.Helper()
	var b *testBundle
	b = setup(t, append([]func(*monitor.Options){func(o *monitor.Options) {
		o.SQL, o.AdminToken = asked{path: func() string { return b.db.Path() }}, adminToken
	}}, change...)...)
	b.importing(t, event("a2a.send", "eden", 1, `"fromAgent":"eden","toAgent":"seum","message":"리뷰","workSessionId":"ws_1"`))
	return b
}

const (
	nearPeer = "127.0.0.1:40000"
	farPeer  = "192.0.2.7:40000"
)

func sqlBody(t *testing.T, statement string) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"sql": statement})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestWhoMayAskSQL(t *testing.T) {
	t.Parallel()
	bearer := []string{"Authorization", "Bearer " + adminToken}
	open, guarded, off := withSQL(t), withSQL(t, func(o *monitor.Options) { o.Token = writeToken }), setup(t)
	body := sqlBody(t, "SELECT 1")
	for what, c := range map[string]struct {
		server *testBundle
		peer   string
		header []string
		status int
		code   string
	}{
		"the token":                         {open, nearPeer, bearer, 200, ""},
		"the token, in lower case":          {open, nearPeer, []string{"Authorization", "bearer " + adminToken}, 200, ""},
		"the token from another machine":    {open, farPeer, bearer, 200, ""},
		"the token where there is another":  {guarded, farPeer, bearer, 200, ""},
		"no token":                          {open, nearPeer, nil, 401, "unauthorized"},
		"a wrong one":                       {open, nearPeer, []string{"Authorization", "Bearer x"}, 401, "unauthorized"},
		"a longer one":                      {open, nearPeer, []string{"Authorization", "Bearer " + adminToken + "x"}, 401, "unauthorized"},
		"a wrong one beside a write token":  {guarded, farPeer, []string{"Authorization", "Bearer x"}, 401, "unauthorized"},
		"another scheme":                    {open, nearPeer, []string{"Authorization", "Basic " + adminToken}, 401, "unauthorized"},
		"the token alone":                   {open, nearPeer, []string{"Authorization", adminToken}, 401, "unauthorized"},
		"the write token":                   {guarded, nearPeer, []string{"X-Task-Monitor-Token", writeToken}, 401, "unauthorized"},
		"the token as a write token":        {open, nearPeer, []string{"X-Task-Monitor-Token", adminToken}, 401, "unauthorized"},
		"a page of another site":            {open, nearPeer, append([]string{"Origin", "https://evil.example"}, bearer...), 403, "cross_origin"},
		"a page of another site, no origin": {open, nearPeer, append([]string{"Sec-Fetch-Site", "cross-site"}, bearer...), 403, "cross_origin"},
		"a form of our page":                {open, nearPeer, append([]string{"Origin", "http://127.0.0.1:3847", "Content-Type", "text/plain"}, bearer...), 415, "unsupported_media_type"},
		"our page":                          {open, nearPeer, append([]string{"Origin", "http://127.0.0.1:3847", "Sec-Fetch-Site", "same-origin", "Content-Type", "application/json"}, bearer...), 200, ""},
		"SQL is off":                        {off, nearPeer, bearer, 404, "sql_off"},
		"SQL is off, from another machine":  {off, farPeer, bearer, 401, "unauthorized"},
	} {
		response := c.server.from(c.peer, http.MethodPost, "/api/sql", body, c.header...)
		var r refusal
		_ = json.Unmarshal(response.Body.Bytes(), &r)
		if response.Code != c.status || r.Code != c.code {
			t.Errorf("%s: %d %s, want %d %s", what, response.Code, response.Body, c.status, c.code)
		}
		if asks := strings.Contains(response.Body.String(), monitor.AdminTokenVariable); c.status == 401 && c.server != off && !asks {
			t.Errorf("%s: %s, want it to say which token to show", what, response.Body)
		}
	}
	for what, c := range map[string]struct {
		server *testBundle
		header []string
		status int
	}{"the token": {open, bearer, 200}, "none": {open, nil, 401}, "off": {off, bearer, 404}, "a page": {open, append([]string{"Origin", "https://evil.example"}, bearer...), 403}} {
		if response := c.server.from(nearPeer, http.MethodGet, "/api/sql/schema", "", c.header...); response.Code != c.status {
			t.Errorf("schema with %s: %d %.200s, want %d", what, response.Code, response.Body, c.status)
		}
	}
}

// Answers and refusals of SQL are as openapi.yaml says.
func TestSQLKeepsTheContract(t *testing.T) {
	t.Parallel()
	b := withSQL(t)
	contract := newContract(t, b)
	ask := func(method, path, body string, status int) *httptest.ResponseRecorder {
		t.Helper()
		response := b.from(nearPeer, method, path, body, "Authorization", "Bearer "+adminToken)
		contract.hold(t, method, path, status, response.Result(), response.Body.Bytes())
		return response
	}
	for _, c := range []struct {
		body   string
		status int
		want   string
	}{
		{sqlBody(t, "SELECT seq, 9007199254740993 AS big, x'00ff' AS b, NULL, 1.0 FROM events"), 200, `"rows":[[1,9007199254740993,"00ff",null,1.0]],"rowCount":1,"truncated":false,`},
		{sqlBody(t, "SELECT seq, message FROM v_events"), 200, `{"columns":[{"name":"seq","type":"INTEGER"},{"name":"message","type":""}],"rows":[[1,"리뷰"]]`},
		{`{"sql":"VALUES (1),(2),(3)","limit":2}`, 200, `"rows":[[1],[2]],"rowCount":2,"truncated":true`},
		{sqlBody(t, "SELECT 1 WHERE 0"), 200, `"rows":[],"rowCount":0`},
		{sqlBody(t, "EXPLAIN QUERY PLAN SELECT * FROM events"), 200, "SCAN events"},
		{sqlBody(t, "DELETE FROM events"), 403, `"code":"sql_refused"`},
		{sqlBody(t, "SELECT load_extension('x')"), 403, `"code":"sql_refused","field":"sql"`},
		{sqlBody(t, "SELECT 1; SELECT 2"), 403, `"code":"sql_refused"`},
		{sqlBody(t, "SELECT\n nowhere"), 400, `"error":"line 2, column 2: no such column: nowhere","code":"sql_error"`},
		{sqlBody(t, "SELECT zeroblob(2000000000)"), 422, `"code":"sql_too_large"`},
		{sqlBody(t, ""), 400, `"code":"missing_field"`},
		{`{}`, 400, `"code":"missing_field"`},
		{`{"sql":7}`, 400, `"code":"missing_field"`},
		{`{"sql":"SELECT 1","limit":0}`, 400, `"code":"invalid_parameter"`},
		{`{"sql":"SELECT 1","limit":10001}`, 400, `"code":"invalid_parameter"`},
		{`{"sql":"SELECT 1","limit":1.5}`, 400, `"code":"invalid_parameter"`},
		{`{"sql":"SELECT 1","limit":"2"}`, 400, `"code":"invalid_parameter"`},
		{`{"sql":"SELECT ?, ?, ?, ?, ?","params":[9007199254740993,1.5,"리뷰",null,true]}`, 200, `"rows":[[9007199254740993,1.5,"리뷰",null,1]]`},
		{`{"sql":"SELECT seq FROM v_events WHERE message = :text","params":{"text":"리뷰"}}`, 200, `"rows":[[1]]`},
		{`{"sql":"SELECT ?","params":["1; DELETE FROM events; --"]}`, 200, `"rows":[["1; DELETE FROM events; --"]]`},
		{`{"sql":"SELECT 1","params":null}`, 200, `"rows":[[1]]`},
		{`{"sql":"SELECT ?"}`, 400, `"code":"sql_error","field":"params"`},
		{`{"sql":"SELECT :a","params":{"b":1}}`, 400, `"error":"no value for :a","code":"sql_error","field":"params"`},
		{`{"sql":"SELECT 1","params":["x"]}`, 400, `"code":"sql_error","field":"params"`},
		{`{"sql":"SELECT ?","params":"x"}`, 400, `"code":"invalid_parameter","field":"params"`},
		{`{"sql":"SELECT ?","params":[[1]]}`, 400, `"code":"invalid_parameter","field":"params"`},
		{`{"sql":"SELECT ?","params":[{}]}`, 400, `"code":"invalid_parameter","field":"params"`},
		{`{"sql":"SELECT ?","params":[9223372036854775808]}`, 400, `"code":"invalid_parameter","field":"params"`},
		{`{"sql":"SELECT ?","params":[1e999]}`, 400, `"code":"invalid_parameter","field":"params"`},
		{`{"sql":"SELECT ?","params":[` + strings.Repeat("1,", 100) + `1]}`, 400, `"code":"invalid_parameter","field":"params"`},
		{`{"sql":"SELECT ?, ?","params":["` + strings.Repeat("x", 40_000) + `","` + strings.Repeat("x", 40_000) + `"]}`, 400, `"code":"invalid_parameter","field":"params"`},
		{`{"sql":"ATTACH ? AS x","params":["/etc/passwd"]}`, 403, `"code":"sql_refused"`},
		{`{"sql":"SELECT load_extension(?)","params":["x"]}`, 403, `"code":"sql_refused"`},
		{`{"sql":"SELECT zeroblob(?)","params":[2000000000]}`, 422, `"code":"sql_too_large"`},
		{`[]`, 400, `"code":"invalid_body"`},
	} {
		response := ask(http.MethodPost, "/api/sql", c.body, c.status)
		if !strings.Contains(response.Body.String(), c.want) || response.Header().Get("X-As-Of-Seq") == "" {
			t.Errorf("%s: %s, want %s", c.body, response.Body, c.want)
		}
	}
	if schema := ask(http.MethodGet, "/api/sql/schema", "", 200).Body.String(); !strings.Contains(schema, `"name":"v_events","kind":"view"`) {
		t.Errorf("schema: %.300s", schema)
	}
	if refused := ask(http.MethodGet, "/api/sql/schema?as_of=1", "", 400).Body.String(); !strings.Contains(refused, "as_of_not_supported") {
		t.Errorf("as of an event: %s", refused)
	}
}

// What was asked is nowhere in the log file, nor is the token.
func TestSQLIsLoggedWithoutText(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	b := withSQL(t, func(o *monitor.Options) {
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	b.from(nearPeer, http.MethodPost, "/api/sql", `{"sql":"SELECT ?","params":["hunter2"]}`, "Authorization", "Bearer "+adminToken)
	for _, statement := range []string{"SELECT 'hunter2'", "SELECT 'hunter2' FROM nowhere", "DELETE FROM hunter2"} {
		b.from(nearPeer, http.MethodPost, "/api/sql", sqlBody(t, statement), "Authorization", "Bearer "+adminToken)
		b.from(nearPeer, http.MethodPost, "/api/sql", sqlBody(t, statement), "Authorization", "Bearer "+adminToken+"x")
	}
	if text := log.String(); strings.Contains(text, "hunter2") || strings.Contains(text, adminToken) || strings.Count(text, "msg=SQL ") != 4 ||
		!strings.Contains(text, "params=1") || !strings.Contains(text, "peer="+nearPeer) || !strings.Contains(text, "code=sql_refused") {
		t.Errorf("the log says\n%s", text)
	}
}
