package monitor_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/monitor"
)

// What GET /api lists is what openapi.yaml describes, method by method, so that no route is left out of either.
func TestContractDescribesEveryRoute(t *testing.T) {
	t.Parallel()
	b := setup(t)
	parameter := regexp.MustCompile(`:(\w+)`)
	var listed, described []string
	for _, endpoint := range get[struct{ Endpoints []string }](t, b, "/api", http.StatusOK).Endpoints {
		listed = append(listed, strings.Replace(parameter.ReplaceAllString(endpoint, "{$1}"), "/*", "/{path}", 1))
	}
	for _, o := range operations(t, b) {
		if o.path != "/" && o.path != "/api" {
			described = append(described, o.method+" "+o.path)
		}
	}
	slices.Sort(listed)
	slices.Sort(described)
	if !slices.Equal(listed, described) {
		t.Errorf("GET /api lists\n%q\nand openapi.yaml describes\n%q", listed, described)
	}
}

// held holds what a recorder has against the contract.
func (c *contract) held(t *testing.T, o operation, status int, response *httptest.ResponseRecorder) {
	t.Helper()
	result := response.Result()
	defer result.Body.Close()
	body, err := io.ReadAll(result.Body)
	if err != nil {
		t.Fatal(err)
	}
	c.hold(t, o.method, o.with("x"), status, result, body)
}

func TestRefusalsKeepTheContract(t *testing.T) {
	t.Parallel()
	const near, far = "127.0.0.1:1", "192.0.2.7:1"
	b := setup(t)
	contract := newContract(t, b)
	for _, o := range operations(t, b) {
		contract.held(t, o, 421, b.from(near, o.method, o.with("x"), "", "Host", "evil.example"))
		if !o.writes() {
			continue
		}
		contract.held(t, o, 401, b.from(far, o.method, o.with("x"), "{}"))
		contract.held(t, o, 403, b.from(near, o.method, o.with("x"), "{}", "Origin", "null"))
		contract.held(t, o, 413, b.from(near, o.method, o.with("x"), strings.Repeat(" ", 1<<20+1)))
		contract.held(t, o, 415, b.from(near, o.method, o.with("x"), "{}", "Sec-Fetch-Site", "same-origin", "Content-Type", "text/plain"))
	}
}

// refusing is a log that takes nothing.
type refusing struct {
	monitor.Store
	err error
}

func (r *refusing) Append(context.Context, ...eventstore.StreamAppend) (eventstore.Result, error) {
	return eventstore.Result{}, r.err
}

// Refusals of a category change are distinct: retry, free space, or an operator's help.
func TestWriteThatTheLogRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err        error
		status     int
		code       string
		retryAfter string
	}{
		{&eventstore.BusyError{Events: 4_096, RetryAfter: 3 * time.Second}, 503, "busy", "3"},
		{&eventstore.BusyError{RetryAfter: time.Millisecond}, 503, "busy", "1"},
		{&eventstore.DiskFullError{Path: "log.db", Err: errors.New("no space")}, 507, "disk_full", ""},
		{&eventstore.CorruptError{Path: "log.db", HintText: "restore a backup"}, 503, "corrupt", ""},
		{&eventstore.BusyError{Held: true, RetryAfter: 2 * time.Second}, 503, "busy", "2"},
		{&eventstore.LostError{Path: "/secret/log.db", Detail: "secret.db was removed"}, 503, "database_lost", ""},
		{&eventstore.IOError{Path: "/secret/log.db", Err: errors.New("secret")}, 503, "io_error", ""},
		{&eventstore.ForeignError{Path: "/secret/log.db", Seq: 7, Why: "secret"}, 503, "foreign_event", ""},
		{eventstore.ErrClosed, 503, "closed", "1"},
		{errors.New("secret detail"), 500, "internal", ""},
	} {
		b := setup(t, func(o *monitor.Options) { o.Store = &refusing{o.Store, c.err} })
		b.has(t, "ws_a")
		response := b.from("127.0.0.1:1", http.MethodPatch, categoryPath, categoryBody)
		var r refusal
		if err := json.Unmarshal(response.Body.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if r.Code != c.code || response.Header().Get("Retry-After") != c.retryAfter || strings.Contains(r.Error+r.Hint, "secret") {
			t.Errorf("%v: %s, Retry-After %q", c.err, response.Body, response.Header().Get("Retry-After"))
		}
		newContract(t, b).held(t, operation{http.MethodPatch, "/api/work-sessions/{id}/category"}, c.status, response)
	}
}
