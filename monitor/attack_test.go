package monitor_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/workspace"
)

// operation is something that openapi.yaml lets a caller do. path has {names} where a caller puts what it likes.
type operation struct{ method, path string }

var placeholder = regexp.MustCompile(`\{[^}]+\}`)

// with puts one text into every hole of the path.
func (o operation) with(text string) string { return placeholder.ReplaceAllLiteralString(o.path, text) }

// writes reports whether the operation changes something.
func (o operation) writes() bool { return o.method != http.MethodGet }

// operations are all that there are, so that one which is added is attacked too.
func operations(t *testing.T, b *testBundle) (all []operation) {
	t.Helper()
	for path, item := range newContract(t, b).document.Paths.Map() {
		for method := range item.Operations() {
			all = append(all, operation{method, path})
		}
	}
	writing := slices.DeleteFunc(slices.Clone(all), func(o operation) bool { return !o.writes() })
	if len(all) < 20 || len(writing) < 3 {
		t.Fatalf("%d operations, %d of them write: too few to be all", len(all), len(writing))
	}
	return all
}

// refused checks that an answer is a refusal with this status and a hint.
func refused(t *testing.T, what string, response *httptest.ResponseRecorder, status int) {
	t.Helper()
	var r refusal
	if err := json.Unmarshal(response.Body.Bytes(), &r); err != nil || response.Code != status || r.Error == "" || r.Code == "" || r.Hint == "" {
		t.Errorf("%s: %d %.300s, want a refusal with %d", what, response.Code, response.Body, status)
	}
}

// Promise: attacks
func TestAttackWriteFromAnotherOrigin(t *testing.T) {
	t.Parallel()
	b := setup(t)
	guarded := setup(t, func(o *monitor.Options) { o.Token = writeToken })
	const near, far = "127.0.0.1:40000", "192.0.2.7:40000"
	for _, o := range operations(t, b) {
		if !o.writes() {
			continue
		}
		what := o.method + " " + o.path
		for _, page := range [][]string{
			{"Origin", "https://evil.example", "Content-Type", "text/plain", "Sec-Fetch-Site", "cross-site"},
			{"Origin", "https://evil.example", "Content-Type", "application/json"},
			{"Origin", "null", "Content-Type", "application/x-www-form-urlencoded"},
			{"Origin", "http://localhost:3102", "Sec-Fetch-Site", "same-site", "Content-Type", "application/json"},
			{"Sec-Fetch-Site", "cross-site"},
		} {
			refused(t, fmt.Sprintf("%s of a page with %q", what, page), b.from(near, o.method, o.with("x"), "{}", page...), http.StatusForbidden)
			refused(t, fmt.Sprintf("%s of a page with %q and no token", what, page), guarded.from(near, o.method, o.with("x"), "{}", page...), http.StatusUnauthorized)
		}
		refused(t, what+" from another machine", b.from(far, o.method, o.with("x"), "{}"), http.StatusUnauthorized)
		refused(t, what+" with a wrong token", guarded.from(near, o.method, o.with("x"), "{}", "X-Task-Monitor-Token", "x"), http.StatusUnauthorized)
		preflight := b.from(near, http.MethodOptions, o.with("x"), "", "Origin", "https://evil.example", "Access-Control-Request-Method", o.method)
		if allowed := preflight.Header().Get("Access-Control-Allow-Origin"); allowed != "" || preflight.Header().Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: a page of evil.example may: %q", what, allowed)
		}
	}
	if head, err := b.db.Head(t.Context()); err != nil || head.Seq != 0 {
		t.Errorf("something was written: %+v, %v", head, err)
	}
}

// A foreign host name that resolves to this machine is refused.
//
// Promise: attacks
func TestAttackDNSRebinding(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *monitor.Options) { o.Hosts = []string{"hub.example"} })
	for _, o := range operations(t, b) {
		for _, host := range []string{"evil.example", "evil.example:3847", "127.0.0.1.evil.example", "localhost.evil.example", "hub.example.evil.example",
			"evil.example#127.0.0.1", "user@evil.example", "0.0.0.0", "host.docker.internal", "HOST.docker.internal:3847"} {
			response := b.from("127.0.0.1:1", o.method, o.with("x"), "{}", "Host", host, "Origin", "http://"+host, "Content-Type", "application/json")
			refused(t, o.method+" "+o.path+" as "+host, response, http.StatusMisdirectedRequest)
			if response.Header().Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s %s: a page of %s may read", o.method, o.path, host)
			}
		}
	}
}

// A container asks this machine by Docker's name. A page that does may have been told by someone's DNS what the name stands for.
func TestContainersMayAskByDockersName(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if response := b.from("127.0.0.1:1", http.MethodGet, "/api/health", "", "Host", "host.docker.internal:3847"); response.Code != http.StatusOK {
		t.Errorf("a container: %d %s", response.Code, response.Body)
	}
	response := b.from("127.0.0.1:1", http.MethodGet, "/api/health", "", "Host", "host.docker.internal:3847", "Sec-Fetch-Site", "same-origin")
	refused(t, "a page", response, http.StatusMisdirectedRequest)
	if response := b.from("127.0.0.1:1", http.MethodGet, "/api/health", "", "Origin", "http://host.docker.internal"); response.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Error("a page of Docker's name may read")
	}
}

// hostile are ids, months and paths that lead elsewhere once someone puts them into the name of a file. They are escaped already.
var hostile = []string{
	"..", "%2e%2e", "%252e%252e", "../secret", "..%2F..%2Fsecret", "%2e%2e%2fsecret", "..%5csecret", "..%252fsecret", "x%2f..%2f..%2fsecret",
	"%2fetc%2fpasswd", "~root", "secret", "secret.md", "secret%00.md", "eden%2f..%2f..%2fsecret", "link", "link.md", "task_link", "task_out", "2026-01",
	"2026-02", "..%c0%af..%c0%afsecret", "%ef%bc%8e%ef%bc%8e", "x%0aSet-Cookie:%20a=b", strings.Repeat("..%2f", 500) + "secret",
}

const secret = "TOP-SECRET-CONTENT"

// taskText is a text that every reader of files would show: of a task, of the task in hand, of what is over.
func taskText(said string) string {
	return "# Task: x\n\n## Metadata\n- **Status:** blocked\n- **Blocked Reason:** " + said + "\n\n## Description\n" + said +
		"\n\n**Focus:** task_x\n**Task:** " + said + "\n\n---\n## [2026-02-20T12:00:00.000Z] " + said + "\n**Context:** " + said +
		"\n**Task ID:** task_x\n### Summary\n" + said + "\n"
}

// trap is a state directory with secrets all around the workspace, and links that lead to them.
func trap(t *testing.T) (state string) {
	t.Helper()
	above := t.TempDir()
	state = filepath.Join(above, "state")
	eden := filepath.Join(state, "workspace-eden")
	outside := filepath.Join(above, "outside")
	for _, dir := range []string{filepath.Join(eden, "tasks"), filepath.Join(eden, "task-history"), filepath.Join(eden, "plans"), outside,
		filepath.Join(state, "secret")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{above + "/secret", above + "/secret.md", state + "/openclaw.json", state + "/secret/task_x.md", state + "/secret.md",
		eden + "/secret.md", eden + "/secret", outside + "/task_out.md", outside + "/2026-01.md", outside + "/plan.json", outside + "/CURRENT_TASK.md"} {
		text := taskText(secret)
		if strings.HasSuffix(file, ".json") {
			text = `{"title":"` + secret + `","steps":[]}`
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(eden, "tasks", "task_x.md"), []byte(taskText("honest")), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{
		eden + "/tasks/task_out.md": outside + "/task_out.md", eden + "/tasks/task_link.md": "../../secret.md", eden + "/tasks/link.md": outside + "/task_out.md",
		eden + "/task-history/2026-01.md": outside + "/2026-01.md", eden + "/task-history/2026-02.md": "../secret.md", eden + "/CURRENT_TASK.md": outside + "/CURRENT_TASK.md",
		eden + "/plans/plan.json": outside + "/plan.json", state + "/workspace-link": outside, state + "/team-state.json": outside + "/plan.json", eden + "/out": outside,
	} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	return state
}

// inside serves the files of a state directory.
func inside(state string) func(*monitor.Options) {
	return func(o *monitor.Options) { o.Workspace = workspace.New(state, workspace.Options{}) }
}

func TestAttackPathTraversalByReading(t *testing.T) {
	t.Parallel()
	b := setup(t, inside(trap(t)), func(o *monitor.Options) { o.TaskHub = "http://127.0.0.1:1" })
	if _, honest := b.ask(t, http.MethodGet, "/api/agents/eden/tasks/task_x"); !strings.Contains(string(honest), `"description":"honest`) {
		t.Fatalf("files are not shown at all: %s", honest)
	}
	asked := 0
	for _, o := range operations(t, b) {
		if o.writes() {
			continue
		}
		paths := []string{o.with("eden")}
		if o.with("") == o.path {
			paths = append(paths, o.path+"?path=../secret&month=../secret&file=../secret")
		}
		for _, text := range hostile {
			if o.with("") == o.path {
				break // it has no holes
			}
			paths = append(paths, o.with(text), o.with("eden")+"?month="+text)
			for name, hole := range map[string]string{"eden": "{id}", "task_x": "{taskId}"} { // one hole well filled, the others not
				paths = append(paths, operation{o.method, strings.Replace(o.path, hole, name, 1)}.with(text))
			}
		}
		slices.Sort(paths)
		for _, path := range slices.Compact(paths) {
			u, err := url.Parse("http://127.0.0.1" + path)
			if err != nil {
				t.Fatal(err)
			}
			request := httptest.NewRequest(http.MethodGet, "/", nil)
			request.URL, request.Host = u, "127.0.0.1"
			response := httptest.NewRecorder()
			b.monitor.Handler().ServeHTTP(response, request)
			asked++
			if strings.Contains(response.Body.String(), secret) || response.Header().Get("Set-Cookie") != "" {
				t.Errorf("%.200s: %d shows what it must not: %.300s", path, response.Code, response.Body)
			}
			if response.Code >= 500 && response.Code != http.StatusServiceUnavailable && !strings.HasPrefix(path, "/api/milestones") {
				t.Errorf("%.200s: %d %.300s", path, response.Code, response.Body)
			}
		}
	}
	t.Logf("%d requests", asked)
}

// Promise: attacks
func TestAttackPathTraversalByWriting(t *testing.T) {
	t.Parallel()
	state := trap(t)
	above := filepath.Dir(state)
	b := setup(t, inside(state))
	before := everything(t, above)
	for _, path := range []string{
		"../secret", "..", ".", "", "/etc/passwd", above + "/secret", "workspace-eden/../openclaw.json", "workspace-eden/../../secret", "openclaw.json",
		"logs/coordination-events.ndjson", "openclawd.db", "openclawd.db-wal", "secret/task_x.md", "workspace-eden", "workspace-eden/", "workspace-eden/.", "workspace-eden/..",
		`workspace-eden\..\..\secret`, `..\secret`, "workspace-eden/out/x.md", "workspace-link/x.md", "workspace-eden/tasks/task_out.md",
		"workspace-eden/CURRENT_TASK.md/../../x", "workspace-eden/tasks", "workspace-eden/a\x00b", "C:/x", "//server/share", "workspace-eden//../x", "~/x", "%2e%2e/secret",
		"workspace-/x.md", "workspace-../x.md", "workspace-eden/./../x", "..hidden.md", strings.Repeat("workspace-eden/", 1_000) + "x", "workspace-eden/" + strings.Repeat("x", 5_000),
	} {
		body, err := json.Marshal(map[string]string{"path": path, "content": "overwritten"})
		if err != nil {
			t.Fatal(err)
		}
		if response := b.from("127.0.0.1:1", http.MethodPost, "/api/workspace-file", string(body)); response.Code < 400 || response.Code >= 500 {
			t.Errorf("%.100q: %d %.300s", path, response.Code, response.Body)
		}
	}
	if after := everything(t, above); after != before {
		t.Errorf("files before\n%safter\n%s", before, after)
	}
	ok := b.from("127.0.0.1:1", http.MethodPost, "/api/workspace-file", `{"path":"workspace-eden/notes/a.md","content":"text"}`)
	if ok.Code != http.StatusOK {
		t.Errorf("an honest one: %d %s", ok.Code, ok.Body)
	}
}

// everything names every file below a directory, with what it holds.
func everything(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			fmt.Fprintln(&all, path, e.Type())
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(&all, "%s %q\n", path, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
