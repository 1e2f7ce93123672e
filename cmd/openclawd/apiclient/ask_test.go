package apiclient_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/cmd/openclawd/apiclient"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/approval"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/monitor"
)

// serverThat answers every question but that for its status with a status and a body, and notes what it is asked.
func serverThat(t *testing.T, status int, body string) (place *apiclient.Place, asked *[]string) {
	t.Helper()
	dir := t.TempDir()
	asked = &[]string{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/status" {
			_ = json.NewEncoder(w).Encode(monitor.Status{Running: health.Running{StateDir: dir, Database: &health.DatabaseState{File: filepath.Join(dir, database.Name)}}})
			return
		}
		said, _ := io.ReadAll(r.Body)
		*asked = append(*asked, r.Method+" "+r.URL.EscapedPath()+" "+r.Header.Get("Content-Type")+" "+string(said))
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return apiclient.PlaceOf(dir, "", strings.TrimPrefix(s.URL, "http://"), true, func(string) string { return "" }), asked
}

// A decision reaches the server as it was said, whatever its id is made of; what the server says comes back.
func TestDecisionsReachTheServer(t *testing.T) {
	t.Parallel()
	place, asked := serverThat(t, 200, `{"ok":true,"id":"a/b","kind":"task","agentId":"eden","taskId":"a/b","status":"cancelled","decidedBy":"민수"}`)
	if _, err := place.Approve(t.Context(), "task_1", ""); err != nil {
		t.Fatal(err)
	}
	done, err := place.Reject(t.Context(), "a/b", "민수", "너무 크다")
	want := approval.Decided{ID: "a/b", Kind: "task", AgentID: "eden", TaskID: "a/b", Status: "cancelled", DecidedBy: "민수"}
	if diff := cmp.Diff(want, done); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	said := []string{`POST /api/approvals/task_1/approve application/json {}`,
		`POST /api/approvals/a%2Fb/reject application/json {"by":"민수","reason":"너무 크다"}`}
	if diff := cmp.Diff(said, *asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

// What a server refuses is told in its words, and what is no answer of ours as that.
func TestRefusalsOfAServerAreTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		code   string // of the error; "" is one without
		text   string // with which the error begins
	}{
		"not continued":     {404, `{"error":"Agent is not continued automatically: x","code":"not_found","hint":"h"}`, "not_found", "Agent is not continued"},
		"follows":           {409, `{"error":"No agents run here","code":"runs_not_available"}`, "runs_not_available", "No agents run here"},
		"another program's": {404, `{"message":"?"}`, "", "unexpected response of the server at 127.0.0.1:"},
		"no JSON":           {200, "<html>", "", "GET /api/"},
		"another shape":     {200, `{"agents":7,"decision":7}`, "", "GET /api/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place, asked := serverThat(t, c.status, c.body)
			_, one := place.Continuation(t.Context(), "x/y")
			_, all := place.Continuations(t.Context())
			for _, err := range []error{one, all} {
				refused, is := errors.AsType[*apiclient.RefusedError](err)
				if err == nil || is != (c.code != "") || is && refused.Code() != c.code || !strings.HasPrefix(err.Error(), c.text) {
					t.Errorf("error %v, want one with the code %q that begins with %q", err, c.code, c.text)
				}
			}
			if want := []string{"GET /api/agents/x%2Fy/continuation  ", "GET /api/continuation  "}; !cmp.Equal(want, *asked) {
				t.Errorf("asked %q, want %q", *asked, want)
			}
		})
	}
	absent := apiclient.PlaceOf(t.TempDir(), "", "127.0.0.1:1", true, func(string) string { return "" })
	_, err := absent.Continuations(t.Context())
	if _, is := errors.AsType[*apiclient.NoServerError](err); !is {
		t.Errorf("no one answers: %v", err)
	}
	place, _ := serverThat(t, 401, `{"error":"Unauthorized","code":"unauthorized","hint":"h"}`)
	_, err = place.Approve(t.Context(), "x", "")
	if _, is := errors.AsType[*config.SettingError](err); !is {
		t.Errorf("the write token is refused: %v", err)
	}
}
