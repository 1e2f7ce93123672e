package ui_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/ui"
)

// memory is a store that may fail.
type memory struct {
	mu   sync.Mutex
	text []byte
	fail error
}

func (m *memory) Read() ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.text, nil
}

func (m *memory) Write(text []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail == nil {
		m.text = text
	}
	return m.fail
}

// serveStore serves a page with a store to this machine.
func serveStore(t *testing.T, open ui.Role, store ui.Store, change ...func(*ui.Options)) *httptest.Server {
	t.Helper()
	opts := ui.Options{Files: smallPage, API: http.NotFoundHandler(), Live: http.NotFoundHandler(), Admits: func(*http.Request) bool { return true },
		Now: time.Now, LogID: "00000000", Access: func() ui.Access { return ui.Access{Open: open, Key: []byte("key")} },
		EndSessions: func() error { return nil }, Features: func() ui.Features { return ui.Features{} }, Store: store}
	for _, c := range change {
		c(&opts)
	}
	site, err := ui.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(site)
	t.Cleanup(server.Close)
	return server
}

// put sends what is to be kept. headers replace those of the page.
func put(t *testing.T, url, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i, all := 0, append([]string{"Sec-Fetch-Site", "same-origin", "Content-Type", "application/json", ui.HeaderUI, "1"}, headers...); i < len(all); i += 2 {
		request.Header.Set(all[i], all[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(text)
}

func TestStoreKeepsWhatWasReplacedLast(t *testing.T) {
	t.Parallel()
	m := &memory{}
	url := serveStore(t, ui.Operate, m).URL + "/ui/store/"
	first, text := ask(t, url+"queries")
	if text != `{"key":"queries","value":null}` || first.Header.Get("ETag") != `"none"` {
		t.Fatalf("%s %s", first.Header.Get("ETag"), text)
	}
	made, text := put(t, url+"queries", `{"value": [ {"name":"이름", "sql":"SELECT 1 < 2"} ]}`, "If-Match", `"none"`)
	if want := `{"key":"queries","value":[{"name":"이름","sql":"SELECT 1 \u003c 2"}]}`; made.StatusCode != 200 || text != want {
		t.Fatalf("%d %s, want %s", made.StatusCode, text, want)
	}
	if read, text := ask(t, url+"queries"); read.Header.Get("ETag") != made.Header.Get("ETag") || !strings.Contains(text, "이름") {
		t.Errorf("%s %s, want the version %s", read.Header.Get("ETag"), text, made.Header.Get("ETag"))
	}
	if _, text := ask(t, url+"views"); !strings.Contains(text, "null") {
		t.Errorf("the other key: %s", text)
	}
	if r, text := put(t, url+"queries", `{"value":[]}`, "If-Match", "W/"+made.Header.Get("ETag")); r.StatusCode != 200 {
		t.Errorf("through a proxy that compresses: %d %s", r.StatusCode, text)
	}
	if r, text := put(t, url+"queries", `{"value":[1]}`, "If-Match", made.Header.Get("ETag")); r.StatusCode != 409 || !strings.Contains(text, `"conflict"`) || r.Header.Get("ETag") == "" {
		t.Errorf("on an older version: %d %s", r.StatusCode, text)
	}
}

// Those who are refused for want of room are told how much they sent.
func TestStoreSaysHowLargeItIs(t *testing.T) {
	t.Parallel()
	url := serveStore(t, ui.Operate, &memory{}).URL + "/ui/store/queries"
	quoted := strings.Repeat("<", ui.MaxStore/5) // stored as \u003c
	for body, want := range map[string]string{
		`{"value":"` + strings.Repeat("x", ui.MaxStore) + `"}`: fmt.Sprintf(`"value":"%d bytes"`, ui.MaxStore+12),
		`{"value":"` + quoted + `"}`:                           fmt.Sprintf(`"value":"%d bytes"`, 6*len(quoted)+len(`{"queries":""}`)),
	} {
		if r, text := put(t, url, body, "If-Match", `"none"`); r.StatusCode != 413 || !strings.Contains(text, `"field":"value"`) || !strings.Contains(text, want) {
			t.Errorf("%d %s, want %s", r.StatusCode, text, want)
		}
	}
}

// The log says who changed what.
func TestStoreLogsItsChanges(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	url := serveStore(t, ui.Operate, &memory{}, func(o *ui.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) }).URL + "/ui/store/views"
	if r, text := put(t, url, `{"value":[1]}`, "If-Match", `"none"`); r.StatusCode != 200 {
		t.Fatalf("%d %s", r.StatusCode, text)
	}
	if r, _ := put(t, url, `{"value":[2]}`, "If-Match", `"none"`); r.StatusCode != 409 {
		t.Fatal(r.Status)
	}
	if text := log.String(); strings.Count(text, "replaced") != 1 || !strings.Contains(text, `key=views by="" role=operate bytes=3 client=127.0.0.1`) {
		t.Errorf("%s", text)
	}
}

// Of those who replace one version at a time, one succeeds.
func TestStoreLosesNoChange(t *testing.T) {
	t.Parallel()
	url := serveStore(t, ui.Operate, &memory{}).URL + "/ui/store/views"
	const people = 8
	var mu sync.Mutex
	count := map[int]int{}
	var all sync.WaitGroup
	for i := range people {
		all.Go(func() {
			r, _ := put(t, url, fmt.Sprintf(`{"value":%d}`, i), "If-Match", `"none"`)
			mu.Lock()
			defer mu.Unlock()
			count[r.StatusCode]++
		})
	}
	all.Wait()
	if count[200] != 1 || count[409] != people-1 {
		t.Errorf("answers %v, want one 200", count)
	}
}

func TestStoreRefuses(t *testing.T) {
	t.Parallel()
	m := &memory{}
	url := serveStore(t, ui.Operate, m).URL + "/ui/store/"
	big := `{"value":"` + strings.Repeat("x", ui.MaxStore) + `"}`
	for _, c := range []struct {
		key, body string
		headers   []string
		status    int
		code      string
	}{
		{"other", `{"value":1}`, []string{"If-Match", `"none"`}, 404, "not_found"},
		{"..%2fopenclaw.json", `{"value":1}`, []string{"If-Match", `"none"`}, 404, "not_found"},
		{"queries/x", `{"value":1}`, []string{"If-Match", `"none"`}, 404, "not_found"},
		{"", `{"value":1}`, []string{"If-Match", `"none"`}, 404, "not_found"},
		{"queries", `{"value":1}`, nil, 400, "missing_field"},
		{"queries", `{"value":1}`, []string{"If-Match", `*`}, 409, "conflict"},
		{"queries", `{}`, []string{"If-Match", `"none"`}, 400, "invalid_body"},
		{"queries", `{"value":1,"x":2}`, []string{"If-Match", `"none"`}, 400, "invalid_body"},
		{"queries", `{"value":1}{}`, []string{"If-Match", `"none"`}, 400, "invalid_body"},
		{"queries", `{`, []string{"If-Match", `"none"`}, 400, "invalid_body"},
		{"queries", big, []string{"If-Match", `"none"`}, 413, "too_large"},
		{"queries", `{"value":1}`, []string{"If-Match", `"none"`, "Sec-Fetch-Site", "cross-site"}, 403, "cross_origin"},
		{"queries", `{"value":1}`, []string{"If-Match", `"none"`, ui.HeaderUI, ""}, 403, "cross_origin"},
		{"queries", `{"value":1}`, []string{"If-Match", `"none"`, "Content-Type", "text/plain"}, 415, "unsupported_media_type"},
	} {
		if r, text := put(t, url+c.key, c.body, c.headers...); r.StatusCode != c.status || !strings.Contains(text, `"`+c.code+`"`) {
			t.Errorf("%s %.60s %q: %d %s, want %d %s", c.key, c.body, c.headers, r.StatusCode, text, c.status, c.code)
		}
	}
	if m.text != nil {
		t.Errorf("it holds %s", m.text)
	}
	m.fail = syscall.ENOSPC
	if r, text := put(t, url+"queries", `{"value":1}`, "If-Match", `"none"`); r.StatusCode != 507 {
		t.Errorf("on a full disk: %d %s", r.StatusCode, text)
	}
	m.fail = errors.New("broken")
	if r, text := put(t, url+"queries", `{"value":1}`, "If-Match", `"none"`); r.StatusCode != 500 || strings.Contains(text, "broken") {
		t.Errorf("on a broken disk: %d %s", r.StatusCode, text)
	}
	m.text = []byte("{half")
	if r, text := ask(t, url+"queries"); r.StatusCode != 500 || !strings.Contains(text, "store_unreadable") {
		t.Errorf("of a damaged file: %d %s", r.StatusCode, text)
	}
}

func TestWhoMayUseTheStore(t *testing.T) {
	t.Parallel()
	for role, want := range map[ui.Role][2]int{ui.None: {401, 401}, ui.Read: {200, 403}, ui.Operate: {200, 200}} {
		url := serveStore(t, role, &memory{}).URL + "/ui/store/queries"
		read, _ := ask(t, url)
		written, _ := put(t, url, `{"value":1}`, "If-Match", `"none"`)
		if got := [2]int{read.StatusCode, written.StatusCode}; got != want {
			t.Errorf("%v: reading and writing answer %v, want %v", role, got, want)
		}
	}
}
