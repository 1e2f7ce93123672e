package openclawd_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rule says what a package and those below it may import from this module. Other imports are forbidden, for the reason.
type rule struct {
	name   string // longest match wins
	may    []string
	reason string
}

var layout = []rule{
	{"", nil, "the root holds only architecture tests"},
	{"coordination", []string{"internal/jsdate"}, "the vocabulary and the pure decisions are the lowest layer: all packages may use them"},
	{"coordination/session", []string{"coordination"}, "a decision depends on the vocabulary, not on other decisions"},
	{"coordination/run", []string{"coordination"}, "a decision depends on the vocabulary, not on other decisions"},
	{"coordination/work", []string{"coordination", "internal/backoff"}, "a decision depends on the vocabulary, not on other decisions"},
	{"coordination/chain", []string{"coordination"}, "a decision depends on the vocabulary, not on other decisions"},
	{"coordination/handoff", []string{"coordination"}, "handoffs are parsed before anything is decided about them"},
	{"coordination/a2a", []string{"coordination", "coordination/handoff", "coordination/run", "internal/backoff"},
		"a flow is decided from its handoff and its runs"},
	{"coordination/task", []string{"coordination", "coordination/taskfile"}, "tasks are also read from their files"},
	{"coordination/plan", []string{"coordination"}, "a decision depends on the vocabulary, not on other decisions"},
	{"coordination/continuation", []string{"coordination", "coordination/run", "coordination/task", "internal/backoff"}, "an agent's next step is decided from its tasks and runs"},
	{"coordination/hook", []string{"coordination"}, "a decision depends on the vocabulary, not on other decisions"},
	{"coordination/skill", []string{"coordination"}, "a decision depends on the vocabulary, not on other decisions"},
	{"coordination/schedule", []string{"coordination"}, "a decision depends on the vocabulary, not on other decisions"},
	{"coordination/route", []string{"coordination"}, "a decision depends on the vocabulary, not on other decisions"},
	{"coordination/response", []string{"coordination"}, "a decision depends on the vocabulary, not on other decisions"},
	{"coordination/collaborate", []string{"coordination"}, "a decision depends on the vocabulary, not on other decisions"},
	{"coordination/delivery", []string{"coordination", "coordination/collaborate", "coordination/response"}, "posts are the result of these decisions"},
	{"coordination/approval", []string{"coordination"}, "approvals depend on the vocabulary only"},
	{"coordination/health", []string{"coordination"}, "health states do not depend on the parts they describe"},
	{"coordination/policy", []string{"coordination"}, "a decision depends on the vocabulary, not on other decisions"},
	{"coordination/pairing", []string{"coordination"}, "a decision depends on the vocabulary, not on other decisions"},
	{"coordination/redaction", []string{"coordination"}, "redaction orders depend on the vocabulary only"},
	{"coordination/snapshot", []string{"coordination"}, "a snapshot is spoken of without knowing how it is built"},
	{"coordination/permission", []string{"coordination"}, "a decision depends on the vocabulary, not on other decisions"},
	{"coordination/tool", []string{"coordination"}, "a decision depends on the vocabulary, not on other decisions"},
	{"coordination/attach", []string{"coordination"}, "a decision depends on the vocabulary, not on other decisions"},
	{"media", []string{"internal"}, "stored files are found by their content; what they belong to is in the log"},
	{"eventstore", []string{"internal/jsoncheck"}, "the contract does not depend on an implementation"},
	{"eventstore/shared", []string{"eventstore", "internal/backoff", "internal/wait"}, "a shared log carries events without interpreting them, and knows no store of a node"},
	{"eventstore/shared/jetstream", []string{"eventstore", "eventstore/shared"}, "one package knows the broker"},
	{"eventstore/shared/postgres", []string{"eventstore", "eventstore/shared"}, "one package knows the database server"},
	{"eventstore/shared/backend", []string{"eventstore", "eventstore/shared"}, "what opens a shared log chooses among those that exist"},
	{"eventstore/shared/sharedtest", []string{"eventstore", "eventstore/shared"}, "the conformance suite applies to any shared log"},
	{"cluster", []string{"coordination/health", "eventstore", "eventstore/shared", "internal/backoff", "internal/wait"}, "a node is led by the shared log; what it serves, and its store, are given to it"},
	{"eventstore/sqlite", []string{"eventstore", "eventstore/shared", "eventstore/sqlite/pages", "internal/backoff", "internal/wait", "migrations"}, "the log stores events without interpreting them"},
	{"eventstore/sqlite/pages", []string{"internal/durable"}, "pages are stored without knowing what is in them"},
	{"eventstore/ndjson", []string{"eventstore", "internal/backoff", "internal/durable", "internal/jsdate", "internal/wait"}, "a log format does not depend on the meaning or the storage of events"},
	{"eventstore/archive", []string{"eventstore", "internal/durable"}, "an archive does not depend on the meaning of events or the store of the log"},
	{"eventstore/sqlite/console", []string{"eventstore", "eventstore/sqlite"}, "the SQL console needs the driver, not the log"},
	{"eventstore/storetest", []string{"eventstore"}, "the conformance suite applies to any store"},
	{"migrations", nil, "SQL files need no code"},
	{"internal", nil, "helpers depend on no other package"},
	{"internal/jsdate", nil, "a date does not depend on the log that it is written in"},
	{"internal/output", nil, "formatting does not depend on the content"},
	{"internal/watch", nil, "file changes are reported whatever the file means"},
	{"config", []string{"coordination", "internal"}, "settings are read before anything else is started"},
	{"config/first", []string{"config", "internal"}, "a first configuration is written before there is one to read"},
	{"projections", []string{"eventstore", "coordination", "projections", "internal"},
		"a fold uses events and its own tables; the engine uses the store through its own interface"},
	{"projections/projectiontest", []string{"eventstore", "coordination", "projections"}, "fixtures serve the tests of all packages"},
	{"agent", []string{"projections", "eventstore", "coordination", "config", "workspace", "agent", "internal"}, "running an agent needs no transport and no tool"},
	{"sandbox", []string{"internal"}, "a sandbox keeps any command in, for any caller"},
	{"tools", []string{"services", "agent", "projections", "eventstore", "coordination", "config", "sandbox", "workspace", "tools", "internal"}, "tools serve agents; transports use them through small interfaces"},
	{"remoteworker", []string{"agent", "config", "coordination", "gateway", "internal", "tools"}, "a worker elsewhere asks models and calls tools; it needs neither the log nor tables"},
	{"mcp", []string{"tools", "coordination", "config", "sandbox", "internal"}, "MCP servers offer tools; they need neither the log nor transports"},
	{"gateway", []string{"projections", "eventstore", "coordination", "config", "gateway", "internal"}, "transports depend neither on each other nor on tools or agents"},
	{"workspace", []string{"coordination", "internal"}, "agents' files do not depend on log, tables or transports"},
	{"monitor", []string{"projections", "eventstore", "coordination", "config", "monitor", "workspace", "internal"}, "transports depend neither on each other nor on tools or agents"},
	{"channel", []string{"projections", "eventstore", "coordination", "config", "channel", "media", "internal"}, "what channels share knows no channel, no tool and no agent"},
	{"channel/channeltest", []string{"agent", "channel", "projections", "eventstore", "coordination", "config", "media", "internal"}, "the suite plays in the program's parts around a channel"},
	{"discord", []string{"channel", "coordination", "config", "discord", "internal"}, "a channel connects and decides nothing: it needs neither the log nor tables"},
	{"slack", []string{"channel", "coordination", "config", "slack", "internal"}, "a channel connects and decides nothing: it needs neither the log nor tables"},
	{"telegram", []string{"channel", "coordination", "config", "telegram", "internal"}, "a channel connects and decides nothing: it needs neither the log nor tables"},
	{"ui", []string{"internal"}, "the page and its login know neither the API nor the log: the server gives them as handlers"},
	{"web", nil, "the built page needs no code"},
	{"services", []string{"agent", "projections", "eventstore", "coordination", "config", "sandbox", "workspace", "services", "internal"},
		"services serve tools and transports and depend on neither"},
	{"database", []string{"config", "coordination", "eventstore", "projections"},
		"one package knows the database's tables and companion files"},
	{"migrate", []string{"coordination", "eventstore", "internal", "migrate", "projections"},
		"moving in makes events and needs no server; a directory of OpenClaw is read without knowing what becomes of it"},
	{"migrate/back", []string{"coordination", "eventstore", "projections"}, "moving out reads the log only"},
	{"migrate/openclaw", []string{"coordination", "internal/jsoncheck", "migrate/openclaw"}, "a directory is read without knowing what becomes of it"},
	{"replay", []string{"config", "coordination", "database", "eventstore", "internal", "projections", "replay"},
		"replay reads nothing but the database"},
	{"maintenance", []string{"config", "coordination", "database", "eventstore", "internal", "maintenance", "projections", "replay", "services"},
		"backup, redaction and verification work on the file, with or without a server"},
	{"server", []string{"agent", "channel", "cluster", "config", "coordination", "database", "discord", "eventstore", "gateway", "internal", "maintenance", "mcp", "media", "monitor", "projections", "replay",
		"sandbox", "server", "services", "slack", "telegram", "tools", "ui", "web", "workspace"},
		"the server wires all parts; it depends neither on commands nor on its clients"},
	{"bench", []string{"agent", "bench", "cluster", "config", "coordination", "database", "eventstore", "gateway", "internal", "maintenance", "monitor", "projections", "replay", "server",
		"services", "tools", "workspace"},
		"benchmarks measure all parts; no package depends on them"},
	{"demo", []string{"coordination", "database", "discord", "internal", "monitor", "server", "slack", "telegram"},
		"the play runs the server against servers for tests, which no program but the demo contains"},
	{"packaging", []string{"internal"}, "packages are made of built programs; of our code they need only the unit of the service"},
	{"cmd", []string{"agent", "channel", "cluster", "cmd", "config", "coordination", "database", "demo", "discord", "eventstore", "gateway", "internal", "maintenance", "mcp", "media", "migrate", "migrations", "monitor",
		"projections", "remoteworker", "replay", "sandbox", "server", "services", "slack", "telegram", "testdata", "tools", "ui", "web", "workspace"},
		"commands may use every part"},
}

const testCode = "test code stays out of the binary"

// neverImported must not be imported by other production code, whatever the layout allows.
var neverImported = map[string]string{
	"eventstore/storetest":                 testCode,
	"eventstore/shared/sharedtest":         testCode,
	"eventstore/shared/jetstream/natstest": testCode,
	"eventstore/shared/postgres/pgtest":    testCode,
	"internal/testscale":                   testCode,
	"internal/faults":                      testCode,
	"internal/clienttest":                  testCode,
	"projections/projectiontest":           testCode,
	"channel/channeltest":                  testCode,
	"discord/discordtest":                  testCode,
	"slack/slacktest":                      testCode,
	"telegram/telegramtest":                testCode,
	"monitor/monitortest":                  testCode,
	"tools/a2atest":                        testCode,
	"mcp/mcptest":                          testCode,
	"eventstore/sqlite":                    "only the composition roots choose the store",
	"cmd":                                  "no package depends on commands",
	"bench":                                "no package depends on benchmarks",
	"demo":                                 testCode,
}

// importers lists who may import a package of neverImported. Without the store, the log is used through the interfaces of package eventstore.
var importers = map[string][]string{
	"eventstore/sqlite":     {"bench", "cmd", "database", "maintenance", "replay", "server"},
	"discord/discordtest":   {"demo"},
	"slack/slacktest":       {"demo"},
	"telegram/telegramtest": {"demo"},
	"demo":                  {"cmd/demo"},
	"internal/faults":       {"discord/discordtest", "slack/slacktest", "telegram/telegramtest"},
}

// libraries lists the libraries that only some packages may import.
var libraries = []struct {
	library string
	users   []string
	reason  string
}{
	{"modernc.org/sqlite", []string{"eventstore/sqlite"}, "one package opens SQLite and handles its pitfalls"},
	{"github.com/pressly/goose", []string{"eventstore/sqlite"}, "migrations run where the file is opened"},
	{"github.com/spf13/cobra", []string{"bench", "cmd"}, "only programs parse command lines"},
	{"charm.land/lipgloss", []string{"internal/output"}, "one package styles terminal output"},
	{"github.com/schollz/progressbar", []string{"cmd"}, "only commands use the terminal"},
	{"github.com/labstack/echo", []string{"monitor", "gateway"}, "only transports serve HTTP"},
	{"github.com/gorilla/websocket", []string{"monitor/push", "gateway", "bench", "discord", "slack"},
		"it is slow-moving and stays behind an interface; bench is a client, and the libraries of channels take its dialer"},
	{"github.com/fsnotify/fsnotify", []string{"internal/watch"}, "one package knows which file changes systems report"},
	{"github.com/santhosh-tekuri/jsonschema", []string{"gateway/protocol", "tools"}, "it validates input from outside; our own data has types"},
	{"github.com/bwmarrin/discordgo", []string{"discord"}, "it is slow-moving and stays behind the Discord adapter"},
	{"golang.org/x/oauth2", []string{"mcp"}, "logins are those of MCP servers"},
	{"github.com/modelcontextprotocol/go-sdk", []string{"mcp", "bench"}, "it stays behind the room of MCP servers; bench is a server for it"},
	{"github.com/slack-go/slack", []string{"slack"}, "it stays behind the Slack adapter"},
	{"github.com/go-telegram/bot", []string{"telegram"}, "it stays behind the Telegram adapter"},
	{"github.com/nats-io/nats.go", []string{"bench", "eventstore/shared/jetstream"}, "one package knows the broker; bench measures it without us"},
	{"github.com/jackc/pgx", []string{"eventstore/shared/postgres"}, "one package knows the database server"},
	{"github.com/nats-io/nats-server", []string{"bench", "eventstore/shared/jetstream/natstest"}, "brokers run in tests and benchmarks only"},
	{"github.com/klauspost/compress", []string{"eventstore/archive", "migrate/openclaw"}, "one package compresses archives; OpenClaw has compressed entries of its own"},
	{"charm.land/bubbletea", []string{"cmd", "replay/stepscreen"}, "only commands use the terminal, and the screen of one"},
	{"github.com/peterh/liner", []string{"cmd"}, "only commands use the terminal"},
	{"github.com/coreos/go-systemd", []string{"cmd", "server"}, "the server notifies systemd when it is ready"},
	{"github.com/sashabaranov/go-openai", []string{"agent/llm/openai"}, "one package sends requests to models and knows the providers' differences"},
	{"github.com/prometheus", []string{"server"}, "the server exports metrics; other packages only provide the numbers"},
}

// stdlibOnly lists packages that use the standard library only, they and those below them, except for libraryUsers.
var stdlibOnly = []string{"coordination", "eventstore", "internal", "migrations", "packaging", "ui", "web"}

var libraryUsers = []string{"eventstore/archive", "eventstore/shared/jetstream", "eventstore/shared/postgres", "eventstore/sqlite", "eventstore/storetest", "internal/output", "internal/watch"}

func TestDependenciesPointDown(t *testing.T) {
	t.Parallel()
	for _, p := range load(t).packages {
		own := ruleOf(p.path)
		if own == nil {
			t.Errorf("%s is not in the package layout: add a rule for it", p.path)
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

func ruleOf(path string) (own *rule) {
	for i := range layout {
		if r := &layout[i]; (r.name == path || r.name != "" && in(path, r.name)) && (own == nil || len(r.name) > len(own.name)) {
			own = r
		}
	}
	return own
}

func checkInside(t *testing.T, p *pkg, own *rule, path string) {
	t.Helper()
	if !in(path, own.may...) {
		t.Errorf("%s must not import %s: %s", p.path, path, own.reason)
	}
	for barred, reason := range neverImported {
		if neverImported[p.path] == testCode { // test packages may import each other, and a store
			continue
		}
		if in(path, barred) && !in(p.path, barred) && !in(p.path, importers[barred]...) {
			t.Errorf("%s must not import %s: %s", p.path, path, reason)
		}
	}
}

func checkOutside(t *testing.T, p *pkg, library string) {
	t.Helper()
	if in(p.path, stdlibOnly...) && !in(p.path, libraryUsers...) {
		t.Errorf("%s must not import %s: it uses the standard library only", p.path, library)
	}
	for _, o := range libraries {
		if in(library, o.library) && !in(p.path, o.users...) {
			t.Errorf("%s must not import %s: %s", p.path, library, o.reason)
		}
	}
}

// maxCommandLines limits the production code of cmd: code that is neither a command nor wiring belongs in another package.
const maxCommandLines = 16_000

func TestCommandsStaySmall(t *testing.T) {
	t.Parallel()
	r, lines := load(t), 0
	for _, p := range r.packages {
		if !in(p.path, "cmd") {
			continue
		}
		for _, f := range p.production {
			lines += r.fset.File(f.ast.Pos()).LineCount()
		}
	}
	if lines == 0 || lines > maxCommandLines {
		t.Errorf("cmd holds %d lines of production code, want at most %d: move other code to its package", lines, maxCommandLines)
	}
}

// The installed binary must contain neither test code nor benchmarks.
func TestBinaryHoldsNoTestCode(t *testing.T) {
	t.Parallel()
	for _, dep := range strings.Fields(string(goTool(t, "list", "-deps", "./cmd/openclawd"))) {
		for _, barred := range []string{"testing", "pgregory.net/rapid", "github.com/google/go-cmp", "github.com/rogpeppe/go-internal",
			module + "/discord/discordtest", module + "/bench"} {
			if in(dep, barred) && dep != "testing/iotest" {
				t.Errorf("cmd/openclawd depends on %s", dep)
			}
		}
	}
}

// The driver is generated against one version of its C library; another one fails at run time.
func TestLibcIsTheVersionThatSQLiteRequires(t *testing.T) {
	t.Parallel()
	versions := goTool(t, "list", "-m", "-f", "{{.Path}} {{.Version}}", "modernc.org/libc")
	driver := strings.TrimSpace(string(goTool(t, "list", "-m", "-f", "{{.GoMod}}", "modernc.org/sqlite")))
	text, err := os.ReadFile(driver)
	if err != nil {
		t.Fatal(err)
	}
	required := regexp.MustCompile(`modernc\.org/libc v\S+`).FindString(string(text))
	if got := strings.TrimSpace(string(versions)); got != required || required == "" {
		t.Errorf("go.mod has %s, modernc.org/sqlite requires %s: go get %s", got, required, strings.Replace(required, " ", "@", 1))
	}
}

// aliases lists imports of our own packages that may be renamed, as "importer imported".
var aliases = []string{}

// Every package has a unique name, so that a qualified name means the same in all files.
func TestPackageNamesAreUnique(t *testing.T) {
	t.Parallel()
	r := load(t)
	named := map[string]string{}
	for _, p := range r.packages {
		if other := named[p.Name]; other != "" && p.Name != "main" {
			t.Errorf("packages %s and %s are both called %s: give one of them another name", other, p.path, p.Name)
		}
		named[p.Name] = p.path
		for _, f := range slices.Concat(p.production, p.tests) {
			for _, spec := range f.ast.Imports {
				path, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module+"/")
				if !ours || spec.Name == nil || spec.Name.Name == "_" || slices.Contains(aliases, p.path+" "+path) {
					continue
				}
				t.Errorf("%s: %s is imported as %s: use the name of the package", r.at(spec), path, spec.Name.Name)
			}
		}
	}
}
