package sessions

import (
	"encoding/json"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// key is a row of session_keys: keys of sessions, including deleted ones.
type key struct {
	id     int64
	name   string
	hidden int64
}

func newKeys(table string) *projections.Table[string, key] {
	return projections.NewTable(projections.Columns[string, key]{
		Table: table, Names: []string{"id", "name", "hidden"}, Key: 1, Fixed: 2, Keep: 4_000,
		Lookup: "name = ?", LookUp: func(name string) []any { return []any{name} },
		Scan: func(r eventstore.Row, k *key) error {
			*k = key{id: r.Int(0), name: r.Text(1), hidden: r.Int(2)}
			return nil
		},
		Args: func(args []any, k *key) []any { return append(args, k.id, k.name, k.hidden) },
	})
}

// sessionRow is a row of sessions.
type sessionRow struct {
	id               int64
	key, agent, kind string

	madeSeq, createdAt, updatedAt, seq int64

	transcript int64
	sessionID  string
	messages   int64

	label, spawner string
	settings       settings

	title, lastRole      string
	lastText             preview
	provider, model      string
	input, output, total int64
	fresh                bool

	channel, to, account, thread string

	aborted bool
	gone    bool
}

func newSessions(table string) *projections.Table[int64, sessionRow] {
	return projections.NewTable(projections.Columns[int64, sessionRow]{
		Table: table, Key: 1, Fixed: 4, Keep: 2_000,
		Names: []string{"id", "key", "agent", "kind", "made_seq", "created_at", "updated_at", "seq", "transcript_id", "session_id", "messages", "label",
			"spawner", "settings", "title", "last_role", "last_text", "provider", "model", "input_tokens", "output_tokens", "total_tokens",
			"tokens_fresh", "last_channel", "last_to", "last_account", "last_thread", "aborted"},
		Lookup: "id = ?", LookUp: func(id int64) []any { return []any{id} },
		Scan: func(r eventstore.Row, s *sessionRow) error {
			*s = sessionRow{
				id: r.Int(0), key: r.Text(1), agent: r.Text(2), kind: r.Text(3), madeSeq: r.Int(4), createdAt: r.Int(5), updatedAt: r.Int(6), seq: r.Int(7),
				transcript: r.Int(8), sessionID: r.Text(9), messages: r.Int(10), label: r.Text(11), spawner: r.Text(12), settings: settings(r.Text(13)),
				title: r.Text(14), lastRole: r.Text(15), lastText: preview{short: r.Text(16)}, provider: r.Text(17), model: r.Text(18),
				input: r.Int(19), output: r.Int(20), total: r.Int(21), fresh: r.Int(22) != 0,
				channel: r.Text(23), to: r.Text(24), account: r.Text(25), thread: r.Text(26), aborted: r.Int(27) != 0,
			}
			return nil
		},
		Args: func(args []any, s *sessionRow) []any {
			return append(args, s.id, s.key, s.agent, s.kind, s.madeSeq, s.createdAt, s.updatedAt, s.seq, s.transcript, s.sessionID, s.messages, s.label,
				s.spawner, string(s.settings), s.title, s.lastRole, s.lastText.text(), s.provider, s.model, s.input, s.output, s.total,
				s.fresh, s.channel, s.to, s.account, s.thread, s.aborted)
		},
		Empty: func(s *sessionRow) bool { return s.gone },
	})
}

const (
	maxTitle = 64  // characters
	maxLast  = 200 // likewise

	// heard bounds the bytes of a text that a title or the last text is made from.
	heard = 4 << 10
)

// preview is the last text of a session. It is made when it is written: of all messages between two writes, people see one.
type preview struct {
	short  string
	of     string // what short is still to be made from; "": nothing
	roster *coordination.Roster
}

func (p *preview) text() string {
	if p.of != "" {
		*p = preview{short: coordination.Preview(p.of, p.roster, maxLast)}
	}
	return p.short
}

// addMessage folds a message of the current transcript.
func (s *sessionRow) addMessage(e *projections.Event, d *eventData) {
	s.messages++
	text := d.text
	if len(text) > heard {
		text = strings.Clone(strings.ToValidUTF8(text[:heard], "")) // the row keeps it
	}
	if !d.internal { // people are not shown such messages
		s.lastRole, s.lastText = d.author, preview{of: text, roster: e.Roster}
		if s.title == "" && d.author == "user" {
			s.title = title(e, text)
		}
	}
	if d.channel != "" {
		s.channel, s.to, s.account, s.thread = d.channel, d.to, d.account, d.threadID
	}
	if d.author != "assistant" || d.by != "" { // what a client injected is not an answer
		return
	}
	if d.model != "" {
		s.provider, s.model = d.provider, d.model
	}
	if d.usage != nil {
		s.input, s.output, s.total, s.fresh = d.usage.input, d.usage.output, d.usage.total, true
	}
	s.aborted = d.stopReason == "aborted"
}

// title returns the title that a text suggests, otherwise its beginning.
func title(e *projections.Event, text string) string {
	if t, _ := coordination.TitleIn(text, e.Roster); t != "" {
		return t
	}
	return coordination.Preview(text, e.Roster, maxTitle)
}

// Names in patches that are more than a setting.
const (
	labelField   = "label"
	spawnerField = "spawnedBy"
)

// settings is the settings of a session: a JSON object with its members sorted by name, or "" if none.
type settings string

func (s settings) decode() members {
	if m := readObject([]byte(s)); m != nil {
		return m
	}
	return members{}
}

type members map[string]json.RawMessage

func (m members) put(name string, value json.RawMessage) {
	if string(value) == "null" {
		delete(m, name)
		return
	}
	m[name] = value
}

func encode(m members) settings {
	if len(m) == 0 {
		return ""
	}
	text, err := json.Marshal(m)
	if err != nil {
		return "" // values are parts of parsed JSON
	}
	return settings(text)
}

// label is a row of session_labels.
type label struct {
	name    string
	session int64 // 0: unused now
}

func newLabels(table string) *projections.Table[string, label] {
	return projections.NewTable(projections.Columns[string, label]{
		Table: table, Names: []string{"label", "session_id"}, Key: 1, Fixed: 1, Keep: 2_000,
		Lookup: "label = ?", LookUp: func(name string) []any { return []any{name} },
		Scan: func(r eventstore.Row, l *label) error {
			*l = label{name: r.Text(0), session: r.Int(1)}
			return nil
		},
		Args:  func(args []any, l *label) []any { return append(args, l.name, l.session) },
		Empty: func(l *label) bool { return l.session == 0 },
	})
}

// agent is a row of session_agents.
type agent struct {
	name     string
	sessions int64
	seq      int64
}

func newAgents(table string) *projections.Table[string, agent] {
	return projections.NewTable(projections.Columns[string, agent]{
		Table: table, Names: []string{"agent", "sessions", "seq"}, Key: 1, Fixed: 1, Keep: 1_000,
		Lookup: "agent = ?", LookUp: func(name string) []any { return []any{name} },
		Scan: func(r eventstore.Row, a *agent) error {
			*a = agent{name: r.Text(0), sessions: r.Int(1), seq: r.Int(2)}
			return nil
		},
		Args: func(args []any, a *agent) []any { return append(args, a.name, a.sessions, a.seq) },
	})
}

// transcript is a row of session_transcripts.
type transcript struct {
	id       int64
	name     string
	key      int64
	openedAt int64
	closedAt int64
	closed   string
	messages int64
}

func newTranscripts(table string) *projections.Table[string, transcript] {
	return projections.NewTable(projections.Columns[string, transcript]{
		Table: table, Names: []string{"id", "session_id", "key_id", "opened_at", "closed_at", "closed", "messages"}, Key: 1, Fixed: 4, Keep: 4_000,
		Lookup: "session_id = ?", LookUp: func(name string) []any { return []any{name} },
		Scan: func(r eventstore.Row, t *transcript) error {
			*t = transcript{id: r.Int(0), name: r.Text(1), key: r.Int(2), openedAt: r.Int(3), closedAt: r.Int(4), closed: r.Text(5), messages: r.Int(6)}
			return nil
		},
		Args: func(args []any, t *transcript) []any {
			return append(args, t.id, t.name, t.key, t.openedAt, t.closedAt, t.closed, t.messages)
		},
	})
}
