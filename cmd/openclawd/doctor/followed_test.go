package doctor

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/cmd/openclawd/apiclient"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 2, 20, 12, 0, 0, 0, time.UTC)

func now() time.Time { return noon }

// anyPort is an environment that leaves the usual port of the gateway alone.
func anyPort(name string) string { return map[string]string{"OPENCLAW_GATEWAY_PORT": "0"}[name] }

// clinic is a state directory with a database whose logs were read to their ends of then.
type clinic struct {
	t     *testing.T
	place *apiclient.Place
	lines int
}

func newClinic(t *testing.T) *clinic {
	t.Helper()
	state := t.TempDir()
	if err := os.Mkdir(ndjson.LogDir(state), 0o700); err != nil {
		t.Fatal(err)
	}
	c := &clinic{t: t, place: apiclient.PlaceOf(state, "", "127.0.0.1:0", true, anyPort)}
	c.write(ndjson.LiveLog, 100<<10)
	c.read()
	return c
}

// write appends events of so many bytes, or a few more, to a log.
func (c *clinic) write(name string, bytes int) {
	c.t.Helper()
	var text strings.Builder
	for text.Len() < bytes {
		c.lines++
		fmt.Fprintf(&text, `{"type":"x","agentId":"a","ts":5,"data":{"n":%d,"text":%q}}`+"\n", c.lines, strings.Repeat("x", 64<<10))
	}
	f, err := os.OpenFile(filepath.Join(ndjson.LogDir(c.place.StateDir), name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text.String()); err != nil {
		c.t.Fatal(err)
	}
}

func (c *clinic) rotate() {
	c.t.Helper()
	dir := ndjson.LogDir(c.place.StateDir)
	if err := os.Rename(filepath.Join(dir, ndjson.LiveLog), filepath.Join(dir, "coordination-events-2026-02-20T08-00-00-000Z.ndjson")); err != nil {
		c.t.Fatal(err)
	}
}

// read does what a server does with the logs.
func (c *clinic) read() {
	c.t.Helper()
	log, err := database.OpenToWrite(c.t.Context(), c.place.DB, "test", now)
	if err != nil {
		c.t.Fatal(err)
	}
	defer log.Close()
	follower := ndjson.NewFollower(ndjson.FollowOptions{StateDir: c.place.StateDir, Positions: database.PositionsFile(c.place.DB),
		Import: database.ImportOptions(log, slog.New(slog.DiscardHandler)), Now: now})
	defer follower.Close()
	if _, err := follower.Poll(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
}

// found lists what is found of the logs: "severity code what where".
func (c *clinic) found() (list []string) {
	c.t.Helper()
	findings, err := Examine(c.t.Context(), Patient{Place: c.place, Getenv: anyPort, Now: now})
	if err != nil {
		c.t.Fatal(err)
	}
	for _, f := range findings {
		if f.Code == "follow_position" || strings.HasPrefix(f.Code, "log_") {
			where := strings.TrimPrefix(f.Where, c.place.StateDir+"/")
			list = append(list, strings.Join([]string{f.Severity, f.Code, strings.Fields(f.What)[0], where}, " "))
			if (f.Hint == "") != (f.Severity == severityOK) {
				c.t.Errorf("%+v: what is wrong has a hint, what is right has none", f)
			}
		}
	}
	return list
}

// files are the logs and what is remembered of them.
func (c *clinic) files() map[string]string {
	c.t.Helper()
	texts := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(c.place.StateDir, "*", "*"))
	if err != nil {
		c.t.Fatal(err)
	}
	beside, err := filepath.Glob(c.place.DB + ".*")
	if err != nil {
		c.t.Fatal(err)
	}
	for _, path := range append(paths, beside...) {
		text, err := os.ReadFile(path)
		if err != nil {
			c.t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			c.t.Fatal(err)
		}
		texts[path] = info.ModTime().String() + string(text)
	}
	return texts
}

// Without a server that follows them the doctor looks at the logs themselves, as a follower would, and changes nothing.
func TestLogsThatAreNotStored(t *testing.T) {
	t.Parallel()
	const archive = "coordination-events-2026-02-20T07-00-00-000Z.ndjson"
	for name, tt := range map[string]struct {
		happens func(c *clinic)
		want    []string
	}{
		"nothing":                   {func(*clinic) {}, []string{"ok follow_position 0 logs"}},
		"a little more":             {func(c *clinic) { c.write(ndjson.LiveLog, 100<<10) }, []string{"ok follow_position 131.2 logs"}},
		"much more":                 {func(c *clinic) { c.write(ndjson.LiveLog, 2<<20) }, []string{"warning log_behind 2.1 logs"}},
		"rotated":                   {func(c *clinic) { c.rotate() }, []string{"ok follow_position 0 logs"}},
		"much more, then rotated":   {func(c *clinic) { c.write(ndjson.LiveLog, 2<<20); c.rotate() }, []string{"warning log_behind 2.1 logs"}},
		"rotated, then as much":     {func(c *clinic) { c.rotate(); c.write(ndjson.LiveLog, 2<<20) }, []string{"warning log_behind 2.1 logs"}},
		"an archive from elsewhere": {func(c *clinic) { c.write(archive, 2<<20) }, []string{"warning log_behind 2.2 logs"}},
		"positions lost": {func(c *clinic) {
			c.write(ndjson.LiveLog, 2<<20)
			if err := os.Remove(database.PositionsFile(c.place.DB)); err != nil {
				c.t.Fatal(err)
			}
		}, []string{"warning log_behind 2.2 logs"}},
		"positions damaged": {func(c *clinic) {
			if err := os.Truncate(database.PositionsFile(c.place.DB), 10); err != nil {
				c.t.Fatal(err)
			}
		}, []string{"warning follow_position read openclawd.db.import.json", "ok follow_position 131.2 logs"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClinic(t)
			tt.happens(c)
			before := c.files()
			if diff := cmp.Diff(tt.want, c.found()); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, c.files()); diff != "" {
				t.Errorf("the doctor has changed files (-before +after):\n%.1000s", diff)
			}
		})
	}
}

// A server that follows the logs knows better; one that does not cannot know.
func TestLogsBesideAServer(t *testing.T) {
	t.Parallel()
	for follow, want := range map[string][]string{
		`{"file":"live","behind":5000000000}`: {"warning log_behind 5.0 live"},
		`{"file":"live","behind":1000}`:       {"ok follow_position 1.0 live"},
		`null`:                                {"warning log_behind 2.1 logs"},
	} {
		t.Run(follow, func(t *testing.T) {
			t.Parallel()
			c := newClinic(t)
			c.write(ndjson.LiveLog, 2<<20)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprintf(w, `{"status":"ok","database":{"file":%q},"follow":%s}`, c.place.DB, follow)
			}))
			defer server.Close()
			c.place.API = strings.TrimPrefix(server.URL, "http://")
			if diff := cmp.Diff(want, c.found()); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}
