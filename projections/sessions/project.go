package sessions

import (
	"encoding/json"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// Name of the projection.
const Name = "session"

// version of the fold. Increment it with every change of what it writes.
const version = "3"

// Definition describes the projection "session".
func Definition() projections.Definition {
	return projections.Definition{
		Name: Name, Version: version, Kind: projections.Decision,
		Tables: []string{"session_keys", "sessions", "session_labels", "session_agents", "session_transcripts", "session_messages", "session_usage"},
		New: func(name func(string) string) projections.Projector {
			return &projector{
				keys:        newKeys(name("session_keys")),
				sessions:    newSessions(name("sessions")),
				labels:      newLabels(name("session_labels")),
				agents:      newAgents(name("session_agents")),
				transcripts: newTranscripts(name("session_transcripts")),
				usage:       newUsage(name("session_usage")),
				messages:    projections.NewInserts(name("session_messages"), "transcript_id", "seq"),
			}
		},
	}
}

type projector struct {
	keys        *projections.Table[string, key]
	sessions    *projections.Table[int64, sessionRow]
	labels      *projections.Table[string, label]
	agents      *projections.Table[string, agent]
	transcripts *projections.Table[string, transcript]
	usage       *projections.Table[usageKey, Usage]
	messages    *projections.Inserts
}

func (p *projector) Rows() []projections.Rows {
	return []projections.Rows{p.keys, p.sessions, p.labels, p.agents, p.transcripts, p.usage, p.messages}
}

// Apply folds one event of a session. It never refuses an event: inconsistent ones change nothing.
func (p *projector) Apply(tx eventstore.Tx, e *projections.Event) error {
	if e.Actor == eventstore.ActorImport {
		return nil
	}
	var fold func(eventstore.Tx, *projections.Event, coordination.SessionKey, *eventData) error
	switch e.Type {
	case coordination.TypeSessionCreated:
		fold = p.created
	case coordination.TypeSessionPatched:
		fold = p.patched
	case coordination.TypeSessionMessage:
		fold = p.message
	case coordination.TypeSessionReset:
		fold = p.reset
	case coordination.TypeSessionDeleted:
		fold = p.deleted
	default:
		return nil
	}
	d := read(e)
	k, err := coordination.ParseSessionKey(d.sessionKey)
	if err != nil {
		return nil
	}
	return fold(tx, e, k, d)
}

func (p *projector) created(tx eventstore.Tx, e *projections.Event, k coordination.SessionKey, d *eventData) error {
	s, err := p.find(tx, k)
	if err != nil || s != nil {
		return err
	}
	_, err = p.create(tx, e, k, d)
	return err
}

func (p *projector) patched(tx eventstore.Tx, e *projections.Event, k coordination.SessionKey, d *eventData) error {
	s, err := p.findOrCreate(tx, e, k, d)
	if err != nil {
		return err
	}
	settings, name := s.settings.decode(), s.label
	for field, value := range d.set {
		switch text, isText := coordination.StringValue(value); {
		case field != labelField:
			settings.put(field, value)
		case isText:
			name = text
		}
	}
	for _, field := range d.unset {
		if delete(settings, field); field == labelField {
			name = ""
		}
	}
	s.settings = encode(settings)
	s.spawner, _ = coordination.StringValue(settings[spawnerField])
	return p.name(tx, s, name)
}

// message adds a message to the transcript that it names, if its key has had that, otherwise to the current one. A
// late message for a closed transcript no longer affects the session, and does not recreate it.
func (p *projector) message(tx eventstore.Tx, e *projections.Event, k coordination.SessionKey, d *eventData) error {
	if d.author == "" && !e.Redacted() {
		return nil
	}
	old, err := p.closed(tx, k, d.sessionID)
	if err != nil {
		return err
	}
	if old != nil {
		t, _, err := p.transcripts.Edit(tx, old.name)
		if err != nil {
			return err
		}
		t.messages++
		p.messages.Add(t.id, e.Seq)
		return p.use(tx, e, k, d, nil)
	}
	s, err := p.findOrCreate(tx, e, k, d)
	if err != nil {
		return err
	}
	s.addMessage(e, d)
	p.messages.Add(s.transcript, e.Seq)
	return p.use(tx, e, k, d, s)
}

func (p *projector) reset(tx eventstore.Tx, e *projections.Event, k coordination.SessionKey, d *eventData) error {
	s, err := p.find(tx, k)
	if err != nil {
		return err
	}
	if s == nil {
		_, err := p.create(tx, e, k, d)
		return err
	}
	if s, err = p.change(tx, e, s.id); err != nil {
		return err
	}
	reason := d.reason
	if reason != "new" {
		reason = "reset"
	}
	if err := p.close(tx, e, s, reason); err != nil {
		return err
	}
	if err := p.open(tx, e, s, d.sessionID); err != nil {
		return err
	}
	s.title, s.lastRole, s.lastText = "", "", preview{}
	s.input, s.output, s.total, s.fresh = 0, 0, 0, true
	s.aborted = false
	return nil
}

func (p *projector) deleted(tx eventstore.Tx, e *projections.Event, k coordination.SessionKey, d *eventData) error {
	s, err := p.find(tx, k)
	if err != nil || s == nil {
		return err
	}
	if s, err = p.change(tx, e, s.id); err != nil {
		return err
	}
	if err := p.close(tx, e, s, "deleted"); err != nil {
		return err
	}
	if err := p.name(tx, s, ""); err != nil {
		return err
	}
	a, _, err := p.agents.Edit(tx, s.agent)
	if err != nil {
		return err
	}
	a.sessions--
	s.gone = true
	if d.kept {
		return nil
	}
	row, _, err := p.keys.Edit(tx, s.key)
	if err != nil {
		return err
	}
	row.hidden = e.Seq
	return nil
}

// find returns the session of a key for reading, or nil.
func (p *projector) find(tx eventstore.Tx, k coordination.SessionKey) (*sessionRow, error) {
	row, err := p.keys.Get(tx, k.String())
	if err != nil || row == nil {
		return nil, err
	}
	s, err := p.sessions.Get(tx, row.id)
	if err != nil || s == nil || s.gone {
		return nil, err
	}
	return s, nil
}

// findOrCreate returns the session of a key for changing.
func (p *projector) findOrCreate(tx eventstore.Tx, e *projections.Event, k coordination.SessionKey, d *eventData) (*sessionRow, error) {
	s, err := p.find(tx, k)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return p.create(tx, e, k, d)
	}
	return p.change(tx, e, s.id)
}

// change returns an existing session for changing, and records the change.
func (p *projector) change(tx eventstore.Tx, e *projections.Event, id int64) (*sessionRow, error) {
	s, _, err := p.sessions.Edit(tx, id)
	if err != nil {
		return nil, err
	}
	a, _, err := p.agents.Edit(tx, s.agent)
	if err != nil {
		return nil, err
	}
	s.updatedAt, s.seq, a.seq = max(s.updatedAt, e.TS), e.Seq, e.Seq
	return s, nil
}

// create creates the session of a key that has none.
func (p *projector) create(tx eventstore.Tx, e *projections.Event, k coordination.SessionKey, d *eventData) (*sessionRow, error) {
	row, existed, err := p.keys.Edit(tx, k.String())
	if err != nil {
		return nil, err
	}
	edit := p.sessions.Edit
	if !existed {
		*row = key{id: e.Seq, name: k.String()}
		edit = p.sessions.EditNew
	}
	s, _, err := edit(tx, row.id)
	if err != nil {
		return nil, err
	}
	*s = sessionRow{id: row.id, key: row.name, agent: k.Agent, kind: string(k.Kind), madeSeq: e.Seq, createdAt: e.TS, updatedAt: e.TS, seq: e.Seq}
	if d.parent != "" {
		quoted, err := json.Marshal(d.parent)
		if err != nil {
			return nil, err
		}
		s.spawner, s.settings = d.parent, encode(members{spawnerField: quoted})
	}
	a, existed, err := p.agents.Edit(tx, s.agent)
	if err != nil {
		return nil, err
	}
	if !existed {
		a.name = s.agent
	}
	a.sessions++
	a.seq = e.Seq
	return s, p.open(tx, e, s, d.sessionID)
}

// name sets or removes the label of a session. A label that another session has stays there.
func (p *projector) name(tx eventstore.Tx, s *sessionRow, name string) error {
	if s.label == name {
		return nil
	}
	if name != "" {
		holder, existed, err := p.labels.Edit(tx, name)
		if err != nil || existed && holder.session != 0 {
			return err
		}
		*holder = label{name: name, session: s.id}
	}
	if s.label != "" {
		left, _, err := p.labels.Edit(tx, s.label)
		if err != nil {
			return err
		}
		left.session = 0
	}
	s.label = name
	return nil
}

// open begins a transcript and makes it a session's current one. It has the wanted name, unless a transcript ever had
// that; then the name is the event's id.
func (p *projector) open(tx eventstore.Tx, e *projections.Event, s *sessionRow, want string) error {
	for _, name := range [...]string{want, e.ID.String()} {
		if name == "" {
			continue
		}
		taken, err := p.transcripts.Get(tx, name)
		if err != nil {
			return err
		}
		if want = name; taken == nil {
			break
		}
	}
	t, existed, err := p.transcripts.Edit(tx, want)
	if err != nil {
		return err
	}
	if !existed {
		*t = transcript{id: e.Seq, name: want, key: s.id, openedAt: e.TS}
	}
	s.transcript, s.sessionID, s.messages = t.id, t.name, 0
	return nil
}

func (p *projector) close(tx eventstore.Tx, e *projections.Event, s *sessionRow, why string) error {
	t, _, err := p.transcripts.Edit(tx, s.sessionID)
	if err != nil {
		return err
	}
	t.closedAt, t.closed, t.messages = e.TS, why, s.messages
	return nil
}

// closed returns the transcript of that name if it is a former one of the key.
func (p *projector) closed(tx eventstore.Tx, k coordination.SessionKey, name string) (*transcript, error) {
	if name == "" {
		return nil, nil
	}
	t, err := p.transcripts.Get(tx, name)
	if err != nil || t == nil || t.closed == "" {
		return nil, err
	}
	row, err := p.keys.Get(tx, k.String())
	if err != nil || row == nil || row.id != t.key {
		return nil, err
	}
	return t, nil
}
