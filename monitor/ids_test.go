package monitor_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestHostileIDs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := []string{"ws_한글_세션", "../etc/passwd", "a/../b", "a//b", "%2e%2e", "50% off", "ws:ws:x", "?#&=", "a b+c", ".", "..", "a\u2028b", `"'<>`,
		"search", strings.Repeat("가", 3_000)}
	for i, id := range ids {
		quoted, err := json.Marshal(id)
		if err != nil {
			t.Fatal(err)
		}
		b.importing(t, event("a2a.send", "main", float64(i), fmt.Sprintf(`"toAgent":"ruda","message":"m%d","workSessionId":%s`, i, quoted)))
	}
	for _, id := range ids {
		for _, prefix := range []string{"", "ws:"} {
			if prefix+id == "search" {
				continue // that path is the search; the work session has its prefixed name
			}
			got := get[detail](t, b, "/api/work-sessions/"+url.PathEscape(prefix+id), http.StatusOK)
			if got.Session.WorkSessionID != id || got.Session.ID != "ws:"+id {
				t.Errorf("%.40q is answered as %.40q", prefix+id, got.Session.WorkSessionID)
			}
		}
	}
	for _, missing := range []string{"ws_missing", strings.Repeat("x", 10_000), "%2e%2e%2f", "ws:", "ws_a/category"} {
		got := get[refusal](t, b, "/api/work-sessions/"+url.PathEscape(missing), http.StatusNotFound)
		if got.Error != "Work session not found: "+missing {
			t.Errorf("%.40q: %.80q", missing, got.Error)
		}
	}
	// Slashes and dots that are not escaped are part of the id too.
	for _, raw := range []string{"../etc/passwd", "a/../b", "a//b"} {
		response := raws(t, b, "GET /api/work-sessions/"+raw+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", raw, response.StatusCode)
		}
	}
	if response := raws(t, b, "GET /api/work-sessions/%zz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); response.StatusCode != http.StatusBadRequest {
		t.Errorf("bad escape: %d", response.StatusCode)
	}
}

// raws sends text as it is.
func raws(t *testing.T, b *testBundle, text string) *http.Response {
	t.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := connection.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return response
}
