package openclaw

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
)

// Session is a session with its transcripts.
type Session struct {
	Agent string // directory
	Place string // where it is described
	Key   coordination.SessionKey
	Entry Entry

	Transcripts []Transcript // oldest first
	Archived    bool         // it has no current transcript: the last one was reset or deleted
}

// Entry is what OpenClaw stores of a session beside its transcript. Members of another type are blank.
type Entry struct {
	SessionID   string
	SessionFile string
	UpdatedAt   int64
	Label       string
	SpawnedBy   string
	Model       string // chosen for the session, with its provider; ""
	Settings    map[string]json.RawMessage
}

// settings are the members of an entry that are settings of ours by the same name.
var settings = []string{"thinkingLevel", "verboseLevel", "reasoningLevel", "responseUsage", "elevatedLevel", "execHost", "execSecurity", "execAsk",
	"execNode", "sendPolicy", "groupActivation", "spawnDepth"}

// UnmarshalJSON reads an entry.
func (e *Entry) UnmarshalJSON(text []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return err
	}
	word := func(name string) string {
		text, _ := coordination.StringValue(members[name])
		return text
	}
	updated, _ := coordination.NumberValue(members["updatedAt"])
	*e = Entry{SessionID: word("sessionId"), SessionFile: word("sessionFile"), UpdatedAt: int64(updated), Label: word("label"), SpawnedBy: word("spawnedBy"),
		Settings: map[string]json.RawMessage{}}
	if e.Model = word("modelOverride"); e.Model != "" && word("providerOverride") != "" {
		e.Model = word("providerOverride") + "/" + e.Model
	}
	for _, name := range settings {
		if raw := members[name]; len(raw) > 0 && string(raw) != "null" {
			e.Settings[name] = raw
		}
	}
	return nil
}

// Transcript is the part of a session between two resets.
type Transcript struct {
	ID       string
	Place    string
	Closed   string // reset, deleted; "": it is the session's own
	ClosedAt int64  // ms since 1970
	each     func(visit func(Line) error) error
}

// Each visits the entries of the transcript in order.
func (t *Transcript) Each(visit func(Line) error) error { return t.each(visit) }

// Sessions visits all sessions, those that only an archive has first. A session that cannot be read is reported. The error is ctx's, or
// that of visit.
func (s *Source) Sessions(ctx context.Context, visit func(*Session) error) error {
	for _, agent := range s.Agents {
		var err error
		if s.known(agentPath(agent)) { // its files are older, also if it cannot be read
			err = s.databaseSessions(ctx, agent, visit)
		} else {
			err = s.fileSessions(ctx, agent, visit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sessionsDir has the sessions of an agent that are files.
func sessionsDir(agent string) string { return path.Join("agents", agent, "sessions") }

// fileSessions visits the sessions of an agent that are files.
func (s *Source) fileSessions(ctx context.Context, agent string, visit func(*Session) error) error {
	dir := sessionsDir(agent)
	names := s.names(dir) // before sessions.json is read, which names the transcript of a new session first
	for _, name := range names {
		if one := s.archived(agent, dir, name); one != nil {
			if err := visit(one); err != nil {
				return err
			}
		}
	}
	store := path.Join(dir, storeName)
	visited := map[string]bool{} // names of transcripts
	all, err := s.eachMember(store, func(key string, text json.RawMessage) error {
		one := s.stored(agent, dir, store+"#"+key, key, text)
		if one == nil {
			return ctx.Err()
		}
		for i := range one.Transcripts {
			visited[path.Base(one.Transcripts[i].Place)] = true
		}
		return errors.Join(visit(one), ctx.Err())
	})
	if err != nil {
		return err
	}
	s.strangers(dir, names, visited)
	if !all { // a transcript may be of a session that could not be read
		return ctx.Err()
	}
	return s.unnamed(ctx, agent, dir, names, visited, visit)
}

// unnamed visits the transcripts that no session names.
func (s *Source) unnamed(ctx context.Context, agent, dir string, names []string, visited map[string]bool, visit func(*Session) error) error {
	for _, name := range names {
		id, kind := transcriptName(name)
		if kind != current || visited[name] {
			continue
		}
		if one := s.unowned(agent, path.Join(dir, name), id); one != nil {
			if err := visit(one); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// storeName is the file that has all sessions of an agent, without what was said.
const storeName = "sessions.json"

// Kinds of transcripts by their name, besides those of archives: reset and deleted.
const (
	current = "current" // <id>.jsonl
	strange = "strange" // something else that OpenClaw keeps beside a transcript
)

// transcriptName reads the name of a file of transcripts: the id, and the kind. Other files have none.
func transcriptName(name string) (id, kind string) {
	if id, rest, ok := strings.Cut(name, ".jsonl."); ok {
		switch why, _, _ := strings.Cut(rest, "."); why {
		case "reset", "deleted":
			return id, why
		case "lock", "tmp":
			return "", ""
		}
		return id, strange
	}
	id, ok := strings.CutSuffix(name, ".jsonl")
	switch {
	case !ok:
		return "", ""
	case strings.Contains(id, "."):
		id, _, _ = strings.Cut(id, ".")
		return id, strange
	}
	return id, current
}

// strangers reports the files beside transcripts that are none, such as <id>.trajectory.jsonl: all of a kind at once.
func (s *Source) strangers(dir string, names []string, visited map[string]bool) {
	count := map[string]int{}
	for _, name := range names {
		if id, kind := transcriptName(name); kind == strange && !visited[name] {
			word := strings.TrimPrefix(strings.TrimPrefix(name, id), ".jsonl")[1:]
			if end := strings.IndexAny(word, ".-"); end >= 0 { // t1.jsonl.bak-1234
				word = word[:end]
			}
			count[word]++
		}
	}
	for _, word := range slices.Sorted(maps.Keys(count)) {
		s.problem(dir, ReasonUnsupported, fmt.Sprintf("files that are not transcripts: %d of the kind %q", count[word], word), "")
	}
}

// archived is a transcript that a reset or deletion has left: <id>.jsonl.reset.<time>. Its key is not known: it gets one of its own.
func (s *Source) archived(agent, dir, name string) *Session {
	id, why := transcriptName(name)
	if why != "reset" && why != "deleted" {
		return nil
	}
	one := s.unowned(agent, path.Join(dir, name), id)
	if one != nil {
		tr := &one.Transcripts[0]
		tr.Closed, tr.ClosedAt = why, stampTime(strings.TrimPrefix(name, id+".jsonl."+why+"."))
	}
	return one
}

// unowned is a transcript whose session is not known: it gets a key of its own.
func (s *Source) unowned(agent, place, id string) *Session {
	key, ok := s.key(place, "agent:"+agent+":archive:"+id, agent)
	if !ok {
		return nil
	}
	return &Session{Agent: agent, Place: place, Key: key, Archived: true, Entry: Entry{SessionID: id}, Transcripts: []Transcript{{
		ID: id, Place: place, each: func(visit func(Line) error) error { return s.eachLine(place, visit) },
	}}}
}

// stampTime reads the time in the name of an archived transcript, 0 for another text.
func stampTime(stamp string) int64 {
	at, err := time.Parse("2006-01-02T15-04-05.000Z", stamp)
	if err != nil {
		return 0
	}
	return at.UnixMilli()
}

// stored is a session of sessions.json.
func (s *Source) stored(agent, dir, place, key string, text json.RawMessage) *Session {
	k, ok := s.key(place, key, agent)
	if !ok {
		return nil
	}
	one := &Session{Agent: agent, Place: place, Key: k}
	if err := json.Unmarshal(text, &one.Entry); err != nil || one.Entry.SessionID == "" {
		s.problem(place, ReasonInvalid, "the session has no id", "")
		return nil
	}
	file := s.transcriptFile(dir, &one.Entry)
	if file == "" {
		s.problem(place, ReasonNoTranscript, "transcript "+one.Entry.SessionID+" is not in "+dir, "")
		return one
	}
	one.Transcripts = []Transcript{{ID: one.Entry.SessionID, Place: file, each: func(visit func(Line) error) error { return s.eachLine(file, visit) }}}
	return one
}

// transcriptFile finds the transcript of a session. Its recorded path may be of another machine: only the name counts.
func (s *Source) transcriptFile(dir string, e *Entry) string {
	for _, name := range []string{path.Base(strings.ReplaceAll(e.SessionFile, `\`, "/")), e.SessionID + ".jsonl"} {
		if file := path.Join(dir, name); strings.HasSuffix(name, ".jsonl") && path.Base(name) == name && s.known(file) {
			return file
		}
	}
	return ""
}

// key reads a session's key. Old ones are names of sessions of the directory's agent.
func (s *Source) key(place, text, agent string) (coordination.SessionKey, bool) {
	k, err := coordination.SessionKeyOf(text, agent)
	if err != nil {
		s.problem(place, ReasonInvalidKey, err.Error(), "")
		return k, false
	}
	return k, true
}
