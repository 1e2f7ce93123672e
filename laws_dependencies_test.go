package openclawd_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// room says what the packages of one part of the house may import from this module. What is not listed is forbidden, for the reason.
type room struct {
	name   string // longest match wins
	may    []string
	reason string
}

var house = []room{
	{"", nil, "the root holds only laws"},
	{"coordination", nil, "the vocabulary and the pure decisions stand at the bottom: everybody knows them, they know nobody"},
	{"coordination/session", []string{"coordination"}, "a decision knows the vocabulary, and no other one"},
	{"coordination/run", []string{"coordination"}, "a decision knows the vocabulary, and no other one"},
	{"coordination/work", []string{"coordination"}, "a decision knows the vocabulary, and no other one"},
	{"coordination/chain", []string{"coordination"}, "a decision knows the vocabulary, and no other one"},
	{"coordination/handoff", []string{"coordination"}, "what is handed over is read before anything is decided about it"},
	{"coordination/a2a", []string{"coordination", "coordination/handoff", "coordination/run"},
		"what becomes of a message follows from what is handed over with it, and from its runs"},
	{"coordination/task", []string{"coordination", "coordination/taskfile"}, "a task is also known from its file"},
	{"coordination/plan", []string{"coordination"}, "a decision knows the vocabulary, and no other one"},
	{"coordination/continuation", []string{"coordination", "coordination/run", "coordination/task"}, "what becomes of an agent follows from its tasks and its runs"},
	{"coordination/route", []string{"coordination"}, "a decision knows the vocabulary, and no other one"},
	{"coordination/response", []string{"coordination"}, "a decision knows the vocabulary, and no other one"},
	{"coordination/collaborate", []string{"coordination"}, "a decision knows the vocabulary, and no other one"},
	{"coordination/delivery", []string{"coordination", "coordination/collaborate", "coordination/response"}, "what is posted was decided by these"},
	{"coordination/tool", []string{"coordination"}, "a decision knows the vocabulary, and no other one"},
	{"eventstore", nil, "the promises must not depend on a way of keeping them"},
	{"eventstore/sqlite", []string{"eventstore", "migrations"}, "the log stores events; what they mean is not its business"},
	{"eventstore/ndjson", []string{"eventstore"}, "a log format knows events, not what they mean nor where they are stored"},
	{"eventstore/archive", []string{"eventstore", "internal/durable"}, "an archive knows events, not what they mean nor where the log lies"},
	{"eventstore/sqlite/console", []string{"eventstore", "eventstore/sqlite"}, "asking a file needs the driver, not the log"},
	{"eventstore/storetest", []string{"eventstore"}, "the conformance suite judges any store"},
	{"migrations", nil, "SQL files know no code"},
	{"internal", nil, "helpers for everybody depend on nobody"},
	{"config", []string{"coordination", "internal"}, "settings are read before anything else is there"},
	{"projections", []string{"eventstore", "coordination", "projections", "internal"},
		"a fold knows events and its own tables; the engine reaches the store through its own interface"},
	{"agent", []string{"projections", "eventstore", "coordination", "config", "workspace", "agent", "internal"}, "running an agent needs no wire and no tool"},
	{"tools", []string{"agent", "projections", "eventstore", "coordination", "config", "workspace", "tools", "internal"}, "tools serve agents, wires reach them through small interfaces"},
	{"gateway", []string{"projections", "eventstore", "coordination", "config", "gateway", "internal"}, "wires do not know each other, nor tools or agents"},
	{"workspace", []string{"coordination", "internal"}, "the files of agents mean something without log, tables or wires"},
	{"monitor", []string{"projections", "eventstore", "coordination", "config", "monitor", "workspace", "internal"}, "wires do not know each other, nor tools or agents"},
	{"discord", []string{"projections", "eventstore", "coordination", "config", "discord", "internal"}, "wires do not know each other, nor tools or agents"},
	{"cmd", []string{"cmd", "agent", "config", "coordination", "discord", "eventstore", "gateway", "internal", "migrations", "monitor", "projections", "testdata", "tools", "web", "workspace"},
		"the program wires everything"},
	{"cmd/openclawd/output", nil, "how an answer looks does not depend on what it says"},
	{"cmd/openclawd/server", []string{"cmd/openclawd/backup", "cmd/openclawd/database", "cmd/openclawd/output", "cmd/openclawd/overrides", "cmd/openclawd/past", "cmd/openclawd/proof", "cmd/openclawd/redaction", "cmd/openclawd/settings",
		"cmd/openclawd/watch", "agent", "config", "coordination", "discord", "eventstore", "gateway", "internal", "monitor", "projections", "tools", "web", "workspace"},
		"the server knows no commands, nor what looks at it from outside"},
}

// neverImported must not be imported by production code of another room, whatever that room may import.
var neverImported = map[string]string{
	"eventstore/storetest":       "test code stays out of the binary",
	"projections/projectiontest": "test code stays out of the binary",
	"discord/discordtest":        "test code stays out of the binary",
	"monitor/monitortest":        "test code stays out of the binary",
	"eventstore/sqlite":          "only the program chooses the store",
	"cmd":                        "nothing depends on the program",
}

// outsiders are the libraries that only some rooms may use.
var outsiders = []struct {
	library string
	rooms   []string
	reason  string
}{
	{"modernc.org/sqlite", []string{"eventstore/sqlite"}, "one place opens SQLite and knows its traps"},
	{"github.com/pressly/goose", []string{"eventstore/sqlite"}, "the schema belongs to the file"},
	{"github.com/spf13/cobra", []string{"cmd"}, "command lines are for commands"},
	{"charm.land/lipgloss", []string{"cmd/openclawd/output"}, "one place knows how text stands on a terminal"},
	{"github.com/schollz/progressbar", []string{"cmd"}, "terminals are for commands"},
	{"github.com/labstack/echo", []string{"monitor", "gateway"}, "HTTP ends at the wires"},
	{"github.com/gorilla/websocket", []string{"monitor/push", "gateway", "cmd/openclawd/bench", "discord"}, "it is slow-moving: sockets stay behind a seam; bench is a client, and discordgo takes its dialer"},
	{"github.com/fsnotify/fsnotify", []string{"cmd/openclawd/watch"}, "one place knows what systems report of files, and what they do not"},
	{"github.com/santhosh-tekuri/jsonschema", []string{"gateway/protocol", "tools"}, "it judges what comes from outside where that comes in; what is our own has types"},
	{"github.com/bwmarrin/discordgo", []string{"discord"}, "it is slow-moving: Discord ends at its adapter"},
	{"github.com/klauspost/compress", []string{"eventstore/archive"}, "one place knows how archives are packed"},
	{"charm.land/bubbletea", []string{"cmd"}, "terminals are for commands"},
	{"github.com/peterh/liner", []string{"cmd"}, "terminals are for commands"},
	{"github.com/coreos/go-systemd", []string{"cmd"}, "the program is the service"},
	{"github.com/sashabaranov/go-openai", []string{"agent/llm/openai"}, "one place knows how models are asked, and what each provider does differently"},
	{"github.com/prometheus", []string{"cmd/openclawd/server"}, "the program measures; its parts tell numbers"},
}

// stdlibOnly are rooms that use no library at all.
var stdlibOnly = []string{"coordination", "eventstore", "internal", "migrations"}

func TestDependenciesPointDown(t *testing.T) {
	t.Parallel()
	for _, p := range load(t).packages {
		own := roomOf(p.path)
		if own == nil {
			t.Errorf("%s is in no room of the house", p.path)
			continue
		}
		for _, imported := range p.Imports {
			path, ours := strings.CutPrefix(imported, module+"/")
			switch {
			case ours && path == p.path:
			case ours:
				checkInside(t, p, own, path)
			case strings.Contains(strings.Split(imported, "/")[0], "."):
				checkOutside(t, p, imported)
			}
		}
	}
}

func roomOf(path string) (own *room) {
	for i := range house {
		if r := &house[i]; (r.name == path || r.name != "" && in(path, r.name)) && (own == nil || len(r.name) > len(own.name)) {
			own = r
		}
	}
	return own
}

func checkInside(t *testing.T, p *pkg, own *room, path string) {
	t.Helper()
	if !in(path, own.may...) {
		t.Errorf("%s must not import %s: %s", p.path, path, own.reason)
	}
	for barred, reason := range neverImported {
		if in(path, barred) && !in(p.path, barred) && (!in(p.path, "cmd") || barred == "eventstore/storetest") {
			t.Errorf("%s must not import %s: %s", p.path, path, reason)
		}
	}
}

func checkOutside(t *testing.T, p *pkg, library string) {
	t.Helper()
	if slices.Contains(stdlibOnly, roomOf(p.path).name) {
		t.Errorf("%s must not import %s: it uses the standard library only", p.path, library)
	}
	for _, o := range outsiders {
		if in(library, o.library) && !in(p.path, o.rooms...) {
			t.Errorf("%s must not import %s: %s", p.path, library, o.reason)
		}
	}
}

// The binary must not carry test code.
func TestBinaryHoldsNoTestCode(t *testing.T) {
	t.Parallel()
	for _, dep := range strings.Fields(string(goTool(t, "list", "-deps", "./cmd/openclawd"))) {
		for _, barred := range []string{"testing", "pgregory.net/rapid", "github.com/google/go-cmp", "github.com/rogpeppe/go-internal", module + "/discord/discordtest"} {
			if in(dep, barred) && dep != "testing/iotest" {
				t.Errorf("cmd/openclawd depends on %s", dep)
			}
		}
	}
}

// The driver is translated against one version of its C library; another one breaks at run time.
func TestLibcIsTheOneThatSQLiteAsksFor(t *testing.T) {
	t.Parallel()
	versions := goTool(t, "list", "-m", "-f", "{{.Path}} {{.Version}}", "modernc.org/libc")
	driver := strings.TrimSpace(string(goTool(t, "list", "-m", "-f", "{{.GoMod}}", "modernc.org/sqlite")))
	text, err := os.ReadFile(driver)
	if err != nil {
		t.Fatal(err)
	}
	asked := regexp.MustCompile(`modernc\.org/libc v\S+`).FindString(string(text))
	if got := strings.TrimSpace(string(versions)); got != asked || asked == "" {
		t.Errorf("go.mod has %s, modernc.org/sqlite asks for %s: go get %s", got, asked, strings.Replace(asked, " ", "@", 1))
	}
}
