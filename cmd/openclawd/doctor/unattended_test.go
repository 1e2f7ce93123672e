package doctor

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/cmd/openclawd/apiclient"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/services/continuer"
)

// started has agents begin a task each, told by that actor.
func started(t *testing.T, db string, actor eventstore.Actor, agents ...string) {
	t.Helper()
	log := projected(t, db)
	defer log.Close()
	for i, agent := range agents {
		in := coordination.Context{TaskID: fmt.Sprintf("task_%d", i), WorkSessionID: "ws_1", EventRole: coordination.RoleOrchestration}
		happens(t, log, actor, agent, coordination.TypeTaskStarted, in.TaskID,
			coordination.TaskStarted{Context: in, Priority: "high", Description: "배포"})
	}
}

// projected opens a database with all its tables.
func projected(t *testing.T, db string) *sqlite.DB {
	t.Helper()
	log, err := database.OpenToWrite(t.Context(), db, "test", now)
	if err != nil {
		t.Fatal(err)
	}
	tables := database.Projections(coordination.RulesV2)
	if _, err := projections.Start(t.Context(), log, tables, projections.Options{Rules: coordination.RulesV2, Now: now}); err != nil {
		t.Fatal(err)
	}
	return log
}

// happens stores an event of a task.
func happens(t *testing.T, log *sqlite.DB, actor eventstore.Actor, agent, typ, task string, said any) {
	t.Helper()
	data, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	e := eventstore.NewEvent{Type: typ, AgentID: agent, Actor: actor, Data: data}.WithTS(noon.UnixMilli())
	if _, err := log.Append(t.Context(), eventstore.StreamAppend{Stream: coordination.TaskStream(task), Events: []eventstore.NewEvent{e}}); err != nil {
		t.Fatal(err)
	}
}

// Tasks of agents that are not configured any more are told, with who they belong to and how many they are; history that was imported is none.
func TestTasksOfAgentsThatAreGone(t *testing.T) {
	t.Parallel()
	const team = `{agents: {list: [{id: 'Eden'}]}}`
	for name, c := range map[string]struct {
		config string
		actor  eventstore.Actor
		agents []string
		over   bool
		want   string // severity and text; "" for nothing said
	}{
		"all are there":          {team, eventstore.ActorAgent, []string{"eden"}, false, "ok every unfinished task"},
		"one is gone":            {team, eventstore.ActorAgent, []string{"seum", "eden", "seum"}, false, "warning 2 open tasks of seum: no such agent is configured"},
		"seven are gone":         {team, eventstore.ActorAgent, []string{"a", "b", "c", "d", "e", "f", "g"}, false, "warning 1 open task of a, 1 open task of b, 1 open task of c, 1 open task of d, 1 open task of e, those of 2 more agents: "},
		"one is gone, all done":  {team, eventstore.ActorAgent, []string{"seum"}, true, "ok every unfinished task"},
		"imported":               {team, eventstore.ActorImport, []string{"seum"}, false, "ok every unfinished task"},
		"no one is configured":   {`{}`, eventstore.ActorAgent, []string{"seum"}, false, ""},
		"no one knows who is":    {`{agents: {list: [{id: 'eden'}, {id: 'eden'}]}}`, eventstore.ActorAgent, []string{"seum"}, false, ""},
		"there is no such file":  {"", eventstore.ActorAgent, []string{"seum"}, false, ""},
		"nothing is done at all": {team, eventstore.ActorAgent, nil, false, "ok every unfinished task"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := stateWith(t, c.config)
			place := apiclient.PlaceOf(state, "", "127.0.0.1:0", true, anyPort)
			started(t, place.DB, c.actor, c.agents...)
			if c.over {
				log := projected(t, place.DB)
				happens(t, log, c.actor, c.agents[0], coordination.TypeTaskCancelled, "task_0",
					coordination.Context{TaskID: "task_0", EventRole: coordination.RoleOrchestration})
				if err := log.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if got := unattended(t, place); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// Beside a server its configuration counts, and none where another gateway has the agents.
func TestTasksOfAgentsThatAreGoneBesideAServer(t *testing.T) {
	t.Parallel()
	served := stateWith(t, `{agents: {list: [{id: 'seum'}]}}`)
	for says, want := range map[string]string{
		fmt.Sprintf(`"mode":"produce","config":{"file":%q}`, filepath.Join(served, "openclaw.json")): "ok every unfinished task",
		`"mode":"produce","config":{"file":"<own>"}`:                                                 "warning 1 open task of seum: ",
		`"mode":"follow","config":{"file":"<own>"}`:                                                  "",
		`"mode":"produce"`: "",
	} {
		place := apiclient.PlaceOf(stateWith(t, `{agents: {list: [{id: 'eden'}]}}`), "", "", true, anyPort)
		started(t, place.DB, eventstore.ActorAgent, "seum")
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"status":"ok","database":{"file":%q},%s}`, place.DB, strings.ReplaceAll(says, "<own>", place.Config.File))
		}))
		place.API = strings.TrimPrefix(server.URL, "http://")
		if got := unattended(t, place); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", says, got, want)
		}
		server.Close()
	}
}

// stateWith makes a state directory with that configuration, with none for "".
func stateWith(t *testing.T, configuration string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if configuration != "" {
		if err := os.WriteFile(filepath.Join(dir, "openclaw.json"), []byte(configuration), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// unattended is what is found of tasks that no one goes on with: severity and text, "" for nothing.
func unattended(t *testing.T, place *apiclient.Place) (found string) {
	t.Helper()
	findings, err := Examine(t.Context(), Patient{Place: place, Getenv: anyPort, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		if f.Code == continuer.CodeUnattended {
			found = f.Severity + " " + f.What
			if diff := cmp.Diff(place.Config.File, f.Where); f.Severity == severityWarning && (diff != "" || f.Hint != continuer.HintUnattended) {
				t.Errorf("%+v: it does not say where it is and how to fix it", f)
			}
		}
	}
	return found
}
