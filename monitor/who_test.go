package monitor_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/monitor"
)

// credential is what a caller shows.
type credential struct {
	name   string
	header []string
	grant  *monitor.Grant
}

// credentials of programs and of sessions of the page, weakest first.
var (
	ofPrograms = []credential{
		{"nothing", nil, nil},
		{"read token", []string{"X-Task-Monitor-Token", readToken}, nil},
		{"write token", []string{"X-Task-Monitor-Token", writeToken}, nil},
		{"administrator's token", []string{"Authorization", "Bearer " + adminToken}, nil},
	}
	ofSessions = []credential{{"read", nil, &monitor.Grant{}}, {"operate", nil, &monitor.Grant{Write: true}}, {"admin", nil, &monitor.Grant{Write: true, Admin: true}}}
)

// admitted finds the weakest credential with which an operation is not refused.
func (b *testBundle) admitted(o operation, some []credential) string {
	for _, c := range some {
		request := httptest.NewRequest(o.method, "http://127.0.0.1:3847"+o.with("x"), strings.NewReader("{}"))
		request.Header.Set("Content-Type", "application/json")
		request.RemoteAddr = farPeer
		if c.grant != nil {
			request = request.WithContext(monitor.WithGrant(request.Context(), *c.grant))
		}
		for i := 0; i+1 < len(c.header); i += 2 {
			request.Header.Set(c.header[i], c.header[i+1])
		}
		response := httptest.NewRecorder()
		b.monitor.Handler().ServeHTTP(response, request)
		if response.Code != http.StatusUnauthorized && response.Code != http.StatusForbidden {
			return c.name
		}
	}
	return "no one"
}

// docs/security.md says who may call each operation. Where all three tokens are set, this is what happens.
func TestWhoMayDoWhatIsDocumented(t *testing.T) {
	t.Parallel()
	b := withSQL(t, func(o *monitor.Options) { o.ReadToken, o.Token = readToken, writeToken })
	var lines []string
	for _, o := range operations(t, setup(t)) {
		program, session := b.admitted(o, ofPrograms), b.admitted(o, ofSessions)
		if program == "read token" && session == "read" {
			continue // the rule, which is said in words
		}
		lines = append(lines, fmt.Sprintf("| `%s %s` | %s | %s |\n", o.method, o.path, program, session))
	}
	slices.SortFunc(lines, func(x, y string) int { // by path, then method
		_, a, _ := strings.Cut(x, " /")
		_, c, _ := strings.Cut(y, " /")
		if a == c {
			return strings.Compare(x, y)
		}
		return strings.Compare(a, c)
	})
	const head = "| operation | a program shows | a session of the page has |\n|---|---|---|\n"
	path := filepath.Join("..", "docs", "security.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), head)
	if !found {
		t.Fatalf("%s has no table that begins with\n%s", path, head)
	}
	_, after, _ := strings.Cut(rest, "\n\n")
	want := before + head + strings.Join(lines, "") + "\n" + after
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(text) {
		t.Errorf("%s does not say who may do what (go test ./monitor -run TestWhoMayDoWhat -update):\n%s", path, strings.Join(lines, ""))
	}
}
