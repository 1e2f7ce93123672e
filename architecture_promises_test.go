package openclawd_test

import (
	"flag"
	"fmt"
	"go/ast"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// promise is something that users may rely on. Tests with the line "Promise: ID" in their doc comment verify it.
type promise struct{ id, text string }

var promises = []struct {
	area string
	list []promise
}{
	{"The log", []promise{
		{"acknowledged", "An acknowledged append is on disk, also after a kill."},
		{"gapless", "The log is gapless and totally ordered."},
		{"append-once", "The same event id appended again changes nothing and gets the first answer, forever."},
		{"append-only", "Events are never changed or deleted; redaction keeps the hash chain, and a change by another program is found."},
		{"one-writer", "One process writes a database, under whatever name the file is opened."},
		{"cluster", "What any node of a cluster acknowledged is in the log of each, in one order, also after kills, pauses and cut connections; no effect is there twice."},
		{"full-disk", "A full disk refuses appends and nothing else; they recover when there is space."},
		{"lost-files", "Nothing is acknowledged into database files that were removed, replaced, overwritten or truncated."},
		{"faults", "Damage to the database file is reported as documented, word for word."},
		{"old-logs", "Logs of every earlier event version give the same tables."},
	}},
	{"Tables", []promise{
		{"tables-from-log", "Tables depend on the log alone: not on batches, caches, restarts, kills or rebuilds."},
		{"read-your-writes", "A reader in the server sees, in all tables, every append that was acknowledged before, and the log and its tables as of one event."},
		{"parked", "A read model that fails is parked; the log and all other tables continue."},
	}},
	{"Import and follow", []promise{
		{"import-once", "Importing the same logs again, whole or split, adds nothing."},
		{"follow-once", "Each complete line of a log that grows, rotates or is truncated arrives once, in order, also after a kill."},
		{"bad-lines", "No line is lost and none is fatal."},
		{"mirror-once", "Each own event is in the mirrored log once, in order, also after a kill."},
	}},
	{"API", []promise{
		{"contract", "Answers keep to openapi.yaml and equal a naive computation over all events."},
		{"task-hub", "Answers contain every field that Task-Hub reads."},
		{"push", "A `/ws` client that resumes gets no gap and no duplicate; a slow one delays no other."},
		{"search", "Korean queries find what brute force finds."},
		{"kept", "An answer from memory is the one that the log and its tables give at that moment; redacted text is not in it."},
		{"memory", "Parallel reads and SQL queries stay within a fixed memory budget."},
		{"as-of", "Every read with `?as_of=` gives the answer that was given at that event."},
		{"sql-reads", "SQL changes nothing, reads no other file, shows no secret, and ends in time."},
		{"page", "Where a login is required, Task-Hub shows nothing without one; no other page reads or changes anything through it."},
		{"attacks", "Foreign origins, DNS rebinding, path traversal and links lead nowhere."},
	}},
	{"Gateway and sessions", []promise{
		{"clients", "Unmodified clients of protocol 3 and 4 can connect."},
		{"access", "Wrong secrets do not get in, and repeated ones are locked out."},
		{"sessions", "Sessions and transcripts are on disk when a client is answered, and survive a kill."},
		{"slow-clients", "A gateway client that does not read delays no other."},
		{"config-patch", "A configuration change keeps comments, and a kill leaves the old file or the new one."},
		{"config-secrets", "No secret of the configuration is shown, and no agent is dropped without an error."},
	}},
	{"Agents", []promise{
		{"run-once", "An accepted message has a run that ends exactly once, whatever fails; only running runs are reported as interrupted."},
		{"one-key", "The same idempotency key is the same run or flow, forever."},
		{"order", "Messages to one session are answered in order, agents take turns, and waiting costs no goroutine."},
		{"own-answer", "The text of a run is its own, never an older answer."},
		{"model-retry", "A model is asked again only where that may help, with the same key for the same step; no key shows in an error."},
		{"outside-effects", "A tool call with an outside effect is recorded before and after; after a kill its outcome is known or unknown, and it is made again only if its tool may be repeated."},
		{"resume", "An interrupted run goes on at its last step on disk."},
		{"tool-policy", "A tool that is denied cannot be called and looks like a missing one."},
	}},
	{"Between agents", []promise{
		{"flow-once", "Every flow has one message, at least one response, and exactly one end, in any order of answers, timeouts, stops and kills."},
		{"permits", "An agent never has more flows than its limit."},
		{"agent-policy", "Agents send messages only where the configuration allows it."},
		{"loops", "Agents that trigger each other are stopped, whatever ids they use."},
		{"sub-agents", "A sub-agent ends once, and its parent is told once."},
		{"trace", "`trace` shows what caused what, each once."},
	}},
	{"Tasks", []promise{
		{"tasks", "No update of a task is lost, and a task is what folding its events gives."},
		{"task-files", "Task files equal the tables after a kill, manual edits are kept aside, and text survives unchanged."},
		{"continuation", "Each cause leads to one prompt, whatever fails; no task is forgotten in a simulated week."},
		{"approvals", "A task, plan or call of a tool is decided once, and such a call is made only after its approval, also over kills."},
	}},
	{"Discord", []promise{
		{"one-decision", "A message is decided once for all bots: the mentioned agent answers once, the others observe."},
		{"posted-once", "Nothing is posted twice or left out over kills; what cannot be confirmed is reported as unknown."},
	}},
	{"Maintenance", []promise{
		{"restore", "A restored backup verifies and answers the same."},
		{"redaction", "Redacted text is in nothing that openclawd keeps, also after a kill."},
		{"move-store", "A log moved between file, JetStream and Postgres is the same at each stop, also after a kill."},
		{"archives", "An archived log is read as before, also after a kill."},
		{"verify", "`verify` finds changes of tables, task files and the mirror."},
		{"debugger", "Stepping through a log in any order shows the tables as of the current event."},
	}},
}

var updatePromises = flag.Bool("update", false, "write docs/promises.md")

const promisesPage = "docs/promises.md"

// Every promise is verified by tests that always run and name the promise. docs/promises.md is generated from them.
func TestEveryPromiseIsVerified(t *testing.T) {
	t.Parallel()
	proofs := verifiedPromises(t)
	var page strings.Builder
	page.WriteString("# Promises\n\nWhat users may rely on, and the tests that verify it. Generated from the `Promise:` lines of the tests by\n" +
		"`go test . -run TestEveryPromiseIsVerified -update`; the texts are in `architecture_promises_test.go`.\n")
	for _, part := range promises {
		fmt.Fprintf(&page, "\n## %s\n\n| promise | tests |\n|---|---|\n", part.area)
		for _, p := range part.list {
			if len(proofs[p.id]) == 0 {
				t.Errorf("no test verifies the promise %q: add the line \"Promise: %s\" to the comment of one that does", p.text, p.id)
			}
			fmt.Fprintf(&page, "| %s | %s |\n", p.text, strings.Join(proofs[p.id], ", "))
			delete(proofs, p.id)
		}
	}
	for id, tests := range proofs {
		t.Errorf("%s: there is no promise %q in the list of architecture_promises_test.go", strings.Join(tests, ", "), id)
	}
	if *updatePromises {
		if err := os.WriteFile(promisesPage, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(promisesPage)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(page.String(), string(have)); diff != "" {
		t.Errorf("%s is out of date (go test . -run TestEveryPromiseIsVerified -update):\n%s", promisesPage, diff)
	}
}

var (
	promiseLine = regexp.MustCompile(`(?m)^Promise: (\S+)$`)
	fails       = regexp.MustCompile(`^(Error|Errorf|Fatal|Fatalf|Fail|FailNow)$`)
)

// verifiedPromises returns the tests, as links, by the promises that they verify.
func verifiedPromises(t *testing.T) map[string][]string {
	t.Helper()
	proofs := map[string][]string{}
	for _, p := range load(t).packages {
		for _, f := range slices.Concat(p.tests, p.production) {
			for _, d := range f.ast.Decls {
				test, is := d.(*ast.FuncDecl)
				if !is || test.Doc == nil {
					continue
				}
				for _, m := range promiseLine.FindAllStringSubmatch(test.Doc.Text(), -1) {
					proofs[m[1]] = append(proofs[m[1]], fmt.Sprintf("[%s](../%s)", test.Name.Name, p.path))
					name := f.path[strings.LastIndexByte(f.path, '/')+1:]
					switch {
					case !strings.HasSuffix(name, "_test.go") || !regexp.MustCompile(`^(Test|Fuzz)`).MatchString(test.Name.Name):
						t.Errorf("%s: %s is not a test and cannot verify a promise", f.path, test.Name.Name)
					case runtime.GOOS == "linux" && slices.Contains(p.IgnoredGoFiles, name):
						t.Errorf("%s: %s has a build tag: promises need tests that always run", f.path, test.Name.Name)
					case !mayFail(test):
						t.Errorf("%s: %s cannot fail: it neither reports an error nor passes its testing.T on", f.path, test.Name.Name)
					}
				}
			}
		}
	}
	for _, tests := range proofs {
		slices.Sort(tests)
	}
	return proofs
}

// mayFail reports whether a test can fail: it reports errors itself, or passes its t on.
func mayFail(test *ast.FuncDecl) bool {
	if len(test.Type.Params.List) != 1 || len(test.Type.Params.List[0].Names) != 1 {
		return false
	}
	t, may := test.Type.Params.List[0].Names[0].Name, false
	ast.Inspect(test.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			may = may || isIdent(n.X, t) && fails.MatchString(n.Sel.Name)
		case *ast.CallExpr:
			may = may || slices.ContainsFunc(n.Args, func(arg ast.Expr) bool { return isIdent(arg, t) })
			if s, is := n.Fun.(*ast.SelectorExpr); is && isIdent(s.X, t) && (s.Sel.Name == "Run" || s.Sel.Name == "Fuzz") {
				may = true
			}
		}
		return !may
	})
	return may
}
