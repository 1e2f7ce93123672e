package ui_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pronto-lab/openclawd/ui"
)

// serve serves a page in front of handlers, open to this machine.
func serve(t *testing.T, files fstest.MapFS, api http.HandlerFunc) *httptest.Server {
	t.Helper()
	site, err := ui.New(ui.Options{Files: files, API: api, Live: api, Admits: func(*http.Request) bool { return true }, Now: time.Now, LogID: "00000000",
		Access:      func() ui.Access { return ui.Access{Open: ui.Read, Key: []byte("key")} },
		EndSessions: func() error { return nil }, Features: func() ui.Features { return ui.Features{} }})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(site)
	t.Cleanup(server.Close)
	return server
}

var smallPage = fstest.MapFS{
	"index.html": {Data: []byte(`<!doctype html><HTML><HEAD><base href="/x/" target="_blank"><script type="module" src="./app.js"></script>` +
		`<link href="./app.css"><a href="https://example.com/./x"></a></HEAD></HTML>`)},
	"app.js": {Data: []byte("1")}, "app.css": {Data: []byte("")}, "font.woff2": {Data: []byte{0}}, "unknown.bin": {Data: []byte{0}}, "below/one.svg": {Data: []byte("<svg/>")},
}

// ask sends a GET and returns the answer and its body as it came.
func ask(t *testing.T, url string, headers ...string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Add(headers[i], headers[i+1])
	}
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
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

// The page's own addresses lead to its version, and it has one base.
func TestIndexIsWrittenForItsAddress(t *testing.T) {
	t.Parallel()
	server := serve(t, smallPage, nil)
	response, text := ask(t, server.URL+"/ui/a1/b")
	version := response.Header.Get(ui.HeaderUI)
	want := `<!doctype html><HTML><HEAD><base href="../"><script type="module" src="a/` + version + `/app.js"></script>` +
		`<link href="a/` + version + `/app.css"><a href="https://example.com/./x"></a></HEAD></HTML>`
	if text != want {
		t.Errorf("%s\nwant\n%s", text, want)
	}
	for name, kind := range map[string]string{"app.js": "text/javascript; charset=utf-8", "app.css": "text/css; charset=utf-8", "font.woff2": "font/woff2",
		"unknown.bin": "application/octet-stream", "below/one.svg": "image/svg+xml"} {
		if response, _ := ask(t, server.URL+"/ui/a/"+version+"/"+name); response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != kind {
			t.Errorf("%s: %s %s", name, response.Status, response.Header.Get("Content-Type"))
		}
	}
	for _, name := range []string{"", "index.html", "other.js", "below", "below/", "../app.js", "%2e%2e/app.js"} {
		if response, _ := ask(t, server.URL+"/ui/a/"+version+"/"+name); response.StatusCode == http.StatusOK && response.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%q is a file", name)
		}
	}
}

// A file that the build has compressed is sent as it is stored, or unpacked for clients that do not accept gzip.
func TestPackedFilesAreSentAsTheyAreStored(t *testing.T) {
	t.Parallel()
	const script = "console.log(1)"
	packed := pack(t, script)
	server := serve(t, fstest.MapFS{"index.html": {Data: []byte("<head>")}, "app.js.gz": {Data: packed}, "bad.js.gz": {Data: []byte("x")}}, nil)
	index, _ := ask(t, server.URL+"/ui/")
	at := server.URL + "/ui/a/" + index.Header.Get(ui.HeaderUI) + "/"
	tags := map[string]bool{}
	for accepts, want := range map[string]string{"gzip": string(packed), "br": script} {
		response, text := ask(t, at+"app.js", "Accept-Encoding", accepts)
		h := response.Header
		if text != want || (h.Get("Content-Encoding") == "gzip") != (accepts == "gzip") || h.Get("Vary") != "Accept-Encoding" ||
			h.Get("Content-Type") != "text/javascript; charset=utf-8" {
			t.Errorf("%s: %q, %v", accepts, text, h)
		}
		tags[h.Get("ETag")] = true
	}
	if len(tags) != 2 {
		t.Errorf("both have the ETags %v, want one each", tags)
	}
	if response, _ := ask(t, at+"app.js.gz"); response.StatusCode != http.StatusNotFound {
		t.Errorf("app.js.gz: %s", response.Status)
	}
	if response, _ := ask(t, at+"bad.js"); response.StatusCode != http.StatusInternalServerError || response.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("a damaged file: %s, %v", response.Status, response.Header)
	}
}

func pack(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Another content or another name is another version.
func TestVersionFollowsTheFiles(t *testing.T) {
	t.Parallel()
	index := &fstest.MapFile{Data: []byte("<head>")}
	seen := map[string]string{}
	for name, files := range map[string]fstest.MapFS{
		"one": {"index.html": index, "a.js": {Data: []byte("a")}}, "content": {"index.html": index, "a.js": {Data: []byte("b")}},
		"name": {"index.html": index, "b.js": {Data: []byte("a")}}, "border": {"index.html": index, "a.jsa": {}},
	} {
		response, _ := ask(t, serve(t, files, nil).URL+"/ui/")
		version := response.Header.Get(ui.HeaderUI)
		if other := seen[version]; other != "" {
			t.Errorf("%s and %s have the version %s", name, other, version)
		}
		seen[version] = name
	}
	for name, files := range map[string]fstest.MapFS{"no index": {}, "no head": {"index.html": {Data: []byte("x")}}} {
		if _, err := ui.New(ui.Options{Files: files, Now: time.Now}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Answers arrive whole, whatever their length and however they are written.
func TestAnswersOfEveryLength(t *testing.T) {
	t.Parallel()
	const long = 3 << 20 // more than is kept
	lengths := map[string]int{"0": 0, "1": 1, "1024": 1024, "1025": 1025, "long": long}
	server := serve(t, smallPage, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("kind") == "" {
			w.Header().Set("Content-Type", "application/json")
		} else {
			w.Header().Set("Content-Type", r.URL.Query().Get("kind"))
		}
		text := strings.Repeat("openclawd ", 100)
		for left := lengths[r.URL.Query().Get("n")]; left > 0; left -= len(text) {
			text = text[:min(len(text), left)]
			if _, err := io.WriteString(w, text); err != nil {
				return
			}
		}
	})
	for name, n := range lengths {
		_, plain := ask(t, server.URL+"/ui/api/x?n="+name)
		response, zipped := ask(t, server.URL+"/ui/api/x?n="+name, "Accept-Encoding", "GZIP; q=1.0")
		want := sha256.Sum256([]byte(plain))
		if len(plain) != n || (response.Header.Get("Content-Encoding") == "gzip") != (n > 1024) {
			t.Errorf("%s: %d bytes, %v", name, len(plain), response.Header)
		}
		if n > 1024 {
			reader, err := gzip.NewReader(strings.NewReader(zipped))
			if err != nil {
				t.Fatal(err)
			}
			all, err := io.ReadAll(reader)
			if got := sha256.Sum256(all); err != nil || got != want || len(zipped) > n/2 {
				t.Errorf("%s: %d bytes of %d compressed, %v", name, len(all), len(zipped), err)
			}
		}
		if tag := response.Header.Get("ETag"); (tag != "") != (n > 0 && n < long) {
			t.Errorf("%s: ETag %q", name, tag)
		}
		if response, _ := ask(t, server.URL+"/ui/api/x?kind=image/png&n="+name, "Accept-Encoding", "gzip"); response.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s: a picture is compressed", name)
		}
	}
}

// Handlers set the deadline of a long answer, and send parts of one before its end.
func TestAnswersReachTheConnection(t *testing.T) {
	t.Parallel()
	proceed := make(chan struct{})
	server := serve(t, smallPage, func(w http.ResponseWriter, _ *http.Request) {
		control := http.NewResponseController(w)
		_, _ = fmt.Fprint(w, control.SetWriteDeadline(time.Now().Add(time.Hour)), control.SetReadDeadline(time.Time{}))
		_ = control.Flush()
		<-proceed
		_, _ = io.WriteString(w, " and the rest")
	})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/ui/api/x", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	first := make([]byte, len("<nil> <nil>"))
	if _, err := io.ReadFull(response.Body, first); err != nil || string(first) != "<nil> <nil>" {
		t.Errorf("%q %v", first, err)
	}
	close(proceed)
	if rest, err := io.ReadAll(response.Body); err != nil || string(rest) != " and the rest" {
		t.Errorf("%q %v", rest, err)
	}
}

// Only so much of all answers together is kept: others are sent as they come, and the room is free again afterwards.
func TestKeptAnswersAreBounded(t *testing.T) {
	t.Parallel()
	const size, all, room = 900 << 10, 24, 16 << 20
	written, proceed := make(chan struct{}, all), make(chan struct{})
	server := serve(t, smallPage, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", size))
		if r.URL.RawQuery == "" {
			written <- struct{}{}
			<-proceed
		}
	})
	tags := make(chan bool, all)
	for range all {
		go func() {
			response, err := server.Client().Get(server.URL + "/ui/api/x") //nolint:noctx // ends with the server
			if err != nil {
				tags <- false
				return
			}
			defer response.Body.Close()
			_, _ = io.Copy(io.Discard, response.Body)
			tags <- response.Header.Get("ETag") != ""
		}()
	}
	for range all {
		<-written
	}
	if small, _ := ask(t, server.URL+"/ui/api/x?now"); small.Header.Get("ETag") != "" {
		t.Error("more is kept than there is room for")
	}
	close(proceed)
	kept := 0
	for range all {
		if <-tags {
			kept++
		}
	}
	if kept != room/size {
		t.Errorf("%d answers were kept, want %d", kept, room/size)
	}
	if again, _ := ask(t, server.URL+"/ui/api/x?now"); again.Header.Get("ETag") == "" {
		t.Error("the room is not free again")
	}
}

// The API gets the request as it would come without /ui, with the session and without what proves it.
func TestTheAPISeesWhoAsks(t *testing.T) {
	t.Parallel()
	server := serve(t, smallPage, func(w http.ResponseWriter, r *http.Request) {
		s := ui.SessionOf(r.Context())
		_, _ = io.WriteString(w, strings.Join([]string{r.URL.EscapedPath(), r.URL.RawQuery, r.RequestURI, s.Role.String(), s.By, r.Header.Get("Cookie"),
			r.Header.Get("Authorization"), r.Header.Get("X-Task-Monitor-Token"), r.Header.Get("X-Other")}, "|"))
	})
	_, text := ask(t, server.URL+"/ui/api/a%2Fb/c?d=e%20f", "Cookie", "a=b", "Authorization", "Bearer x", "X-Task-Monitor-Token", "x", "X-Other", "y")
	if want := "/api/a%2Fb/c|d=e%20f|/api/a%2Fb/c?d=e%20f|read||||" + "|y"; text != want {
		t.Errorf("%s, want %s", text, want)
	}
	if s := ui.SessionOf(context.Background()); s.Role != ui.None || s.By != "" {
		t.Errorf("without a session: %+v", s)
	}
}
