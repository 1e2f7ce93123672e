package doctor

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/cmd/openclawd/apiclient"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/eventstore"
)

// ended has posts to Discord end, each in its way.
func ended(t *testing.T, db string, ends ...string) {
	t.Helper()
	log := projected(t, db)
	defer log.Close()
	for i, end := range ends {
		d := delivery.Delivery{Purpose: delivery.Reply, AccountID: "eden", AgentID: "eden", ChannelID: "1400000000000000002", Messages: []string{"네"}}
		effect := fmt.Sprint("reply/", i)
		asked, err := d.Work(effect, 0)
		if err != nil {
			t.Fatal(err)
		}
		attempt := coordination.WorkAttempt{EffectID: effect, Attempt: 1, Error: "forbidden: no"}
		var events []eventstore.NewEvent
		for _, e := range []struct {
			typ  string
			said any
		}{{coordination.TypeWorkScheduled, asked}, {coordination.TypeWorkLeased, attempt}, {end, attempt}} {
			data, err := json.Marshal(e.said)
			if err != nil {
				t.Fatal(err)
			}
			events = append(events, eventstore.NewEvent{Type: e.typ, AgentID: "eden", Data: data}.WithTS(noon.UnixMilli()))
		}
		if _, err := log.Append(t.Context(), eventstore.StreamAppend{Stream: coordination.WorkStream(effect), Events: events}); err != nil {
			t.Fatal(err)
		}
	}
}

// What does not stand in Discord is found in the file, with the bots that the configuration has connected.
func TestPostsThatDoNotStandInDiscord(t *testing.T) {
	t.Parallel()
	const team = `{agents: {list: [{id: 'eden'}]}, channels: {discord: {accounts: {eden: {token: 'a'}, spare: {token: 'b', enabled: false}, empty: {}}}}}`
	for name, c := range map[string]struct {
		config string
		ends   []string
		want   string // severity, code and text
	}{
		"all stand there":      {team, []string{coordination.TypeWorkCompleted}, "ok discord 1 bot configured, 0 requests without an answer, "},
		"two do not":           {team, []string{coordination.TypeWorkDead, coordination.TypeWorkCompleted, coordination.TypeWorkDead}, "warning discord_undelivered 2 posts to Discord failed for good"},
		"one is tried again":   {team, []string{coordination.TypeWorkReleased}, "ok discord 1 bot configured, "},
		"switched off":         {strings.Replace(team, "discord: {", "discord: {enabled: false, ", 1), nil, "ok discord 0 bots configured, "},
		"no one is configured": {`{}`, nil, "ok discord the configured bots are unknown here, "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place := apiclient.PlaceOf(stateWith(t, c.config), "", "127.0.0.1:0", true, anyPort)
			ended(t, place.DB, c.ends...)
			findings, err := Examine(t.Context(), Patient{Place: place, Getenv: anyPort, Now: now})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range findings {
				if strings.HasPrefix(f.Code, "discord") {
					got = append(got, f.Severity+" "+f.Code+" "+f.What)
					if (f.Hint == "") != (f.Severity == severityOK) {
						t.Errorf("%+v: what is wrong has a hint, what is right has none", f)
					}
				}
			}
			if len(got) != 1 || !strings.HasPrefix(got[0], c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
