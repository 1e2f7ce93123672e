package migrate

import (
	"encoding/json"
	"strings"
)

// kept are the settings of openclaw.json that say where OpenClaw keeps something, and how the usual places end.
var kept = []struct{ part, section, what, ending string }{
	{Sessions, "session", "sessions", "/agents/{agentId}/sessions/sessions.json"},
	{Cron, "cron", "scheduled jobs", "/cron/jobs.json"},
}

// elsewhere lists what is not in the directory, or not read.
func (t *taker) elsewhere() {
	var config map[string]json.RawMessage
	_ = json.Unmarshal(t.o.Config, &config) // without a configuration all is in its usual place
	for _, k := range kept {
		var section struct{ Store string }
		_ = json.Unmarshal(config[k.section], &section) // a store that is no text is none
		if t.wants(k.part) && section.Store != "" && !t.isUsual(section.Store, k.ending) {
			t.leave("openclaw.json#"+k.section+".store", ReasonUnsupported, "OpenClaw keeps "+k.what+" in "+section.Store+", and only the directory itself is read",
				"copy what is there to "+strings.TrimPrefix(k.ending, "/")+" in a copy of the directory, and name the copy with --from")
		}
	}
	if t.wants(Sessions) && t.source.HasFiles("media") {
		t.leave("media", ReasonUnsupported, "files that people have sent or were sent are not taken over; messages keep what they say of them", "keep the directory")
	}
}

// isUsual reports whether a store is in the directory, which may have been moved.
func (t *taker) isUsual(store, ending string) bool {
	dir, ok := strings.CutSuffix(strings.ReplaceAll(store, `\`, "/"), ending)
	return ok && (strings.HasSuffix(dir, "/.openclaw") || dir == strings.TrimRight(t.o.From, "/"))
}
