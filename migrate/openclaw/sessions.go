package openclaw

import (
	"context"
	"encoding/json"
	"errors"
	"path"
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
		if s.exists(agentPath(agent)) {
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

// fileSessions visits the sessions of an agent that are files.
func (s *Source) fileSessions(ctx context.Context, agent string, visit func(*Session) error) error {
	dir := path.Join("agents", agent, "sessions")
	for _, name := range s.names(dir) {
		if one := s.archived(agent, dir, name); one != nil {
			if err := visit(one); err != nil {
				return err
			}
		}
	}
	store := path.Join(dir, "sessions.json")
	return s.eachMember(store, func(key string, text json.RawMessage) error {
		one := s.stored(agent, dir, store+"#"+key, key, text)
		if one == nil {
			return ctx.Err()
		}
		return errors.Join(visit(one), ctx.Err())
	})
}

// archived is a transcript that a reset or deletion has left: <id>.jsonl.reset.<time>. Its key is not known: it gets one of its own.
func (s *Source) archived(agent, dir, name string) *Session {
	id, rest, isTranscript := strings.Cut(name, ".jsonl.")
	why, stamp, _ := strings.Cut(rest, ".")
	if !isTranscript || why != "reset" && why != "deleted" {
		return nil
	}
	place := path.Join(dir, name)
	key, ok := s.key(place, "agent:"+agent+":archive:"+id, agent)
	if !ok {
		return nil
	}
	return &Session{Agent: agent, Place: place, Key: key, Archived: true, Entry: Entry{SessionID: id}, Transcripts: []Transcript{{
		ID: id, Place: place, Closed: why, ClosedAt: stampTime(stamp), each: func(visit func(Line) error) error { return s.eachLine(place, visit) },
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

// known reports whether there is anything of that name.
func (s *Source) known(name string) bool {
	_, err := s.root.Lstat(name)
	return err == nil
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
