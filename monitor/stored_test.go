package monitor_test

import (
	"bytes"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/monitor"
)

// storedFiles are files by their names, with types.
type storedFiles map[string][2]string

type closable struct{ *bytes.Reader }

func (closable) Close() error { return nil }

func (f storedFiles) Get(id string) (monitor.StoredFile, error) {
	one, is := f[id]
	if !is {
		return monitor.StoredFile{}, fs.ErrNotExist
	}
	return monitor.StoredFile{Content: closable{bytes.NewReader([]byte(one[1]))}, Type: one[0], At: time.UnixMilli(1)}, nil
}

// What people send is never run by a browser: only pictures are shown, everything else is downloaded.
func TestStoredFilesAreHarmless(t *testing.T) {
	t.Parallel()
	page, picture := strings.Repeat("a", 64), strings.Repeat("b", 64)
	b := setup(t, func(o *monitor.Options) {
		o.Stored = storedFiles{page: {"text/html", "<script>alert(1)</script>"}, picture: {"image/png", "\x89PNG"}}
	})
	contract := newContract(t, b)
	for _, tt := range []struct{ path, kind, disposition string }{
		{page + "?name=..%2F..%2Fa%22b%0D%0A.html", "application/octet-stream", `attachment; filename=a_b__.html`},
		{page, "application/octet-stream", "attachment; filename=" + page},
		{picture + "?name=%EC%82%AC%EC%A7%84.png", "image/png", "inline; filename*=utf-8''%EC%82%AC%EC%A7%84.png"},
	} {
		response, body := b.ask(t, http.MethodGet, "/api/files/"+tt.path)
		contract.hold(t, http.MethodGet, "/api/files/"+tt.path, http.StatusOK, response, body)
		h := response.Header
		if h.Get("Content-Type") != tt.kind || h.Get("Content-Disposition") != tt.disposition || h.Get("X-Content-Type-Options") != "nosniff" ||
			h.Get("Content-Security-Policy") != "default-src 'none'; sandbox" || len(body) == 0 {
			t.Errorf("%s: %v", tt.path, h)
		}
	}
	for _, path := range []string{strings.Repeat("c", 64), "x"} {
		contract.check(t, http.MethodGet, "/api/files/"+path, http.StatusNotFound)
	}
	contract.check(t, http.MethodGet, "/api/files/"+page+"?as_of=1", http.StatusBadRequest)
	if response, _ := b.ask(t, http.MethodGet, "/api/files/..%2F..%2Fetc%2Fpasswd"); response.StatusCode != http.StatusNotFound {
		t.Errorf("a path: %s", response.Status)
	}
}
