package openclaw

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/internal/jsoncheck"
)

// statePath is the database that all agents share.
const statePath = "state/openclaw.sqlite"

// agentPath is the database of an agent.
func agentPath(agent string) string {
	return path.Join("agents", agent, "agent", "openclaw-agent.sqlite")
}

// Newest schemas that are known, of OpenClaw 2026.9.6.
const (
	newestAgentSchema = 23
	newestStateSchema = 18
)

// checkSchema refuses a database of a newer schema, and one without what is read of it.
func (s *Source) checkSchema(ctx context.Context, db *sql.DB, name string, newest int, columns ...string) bool {
	version, ok := s.schemaOf(ctx, db, name, newest)
	return ok && s.checkColumns(ctx, db, name, version, columns...)
}

// schemaOf describes the schema of a database. A newer one than is known is reported.
func (s *Source) schemaOf(ctx context.Context, db *sql.DB, name string, newest int) (schema string, ok bool) {
	var version int
	var app string
	err := db.QueryRowContext(ctx, "SELECT schema_version, coalesce(app_version, '?') FROM schema_meta WHERE meta_key = 'primary'").Scan(&version, &app)
	if err != nil {
		s.problem(name, ReasonSchema, "it does not say which schema it has: "+err.Error(), "let OpenClaw open it once, which completes its migration, then migrate again")
		return "", false
	}
	if version > newest {
		s.problem(name, ReasonSchema, fmt.Sprintf("it has schema %d, of OpenClaw %s; schemas up to %d (2026.9.6) are known", version, app, newest),
			"use a newer openclawd")
		return "", false
	}
	return fmt.Sprintf("schema %d, of OpenClaw %s,", version, app), true
}

// checkColumns reports the first column that a database lacks.
func (s *Source) checkColumns(ctx context.Context, db *sql.DB, name, schema string, columns ...string) bool {
	for _, column := range columns {
		table, field, _ := strings.Cut(column, ".")
		var n int
		err := db.QueryRowContext(ctx, "SELECT count(*) FROM pragma_table_info(?) WHERE name = ?", table, field).Scan(&n)
		if err != nil || n == 0 {
			s.problem(name, ReasonSchema, schema+" has no "+column+": it was migrated in part, or is older than what is known",
				"let the newest OpenClaw open it once, which completes its migration, then migrate again")
			return false
		}
	}
	return true
}

// databaseSessions visits the sessions of an agent that are in its database.
func (s *Source) databaseSessions(ctx context.Context, agent string, visit func(*Session) error) error {
	name := agentPath(agent)
	db := s.database(name)
	if db == nil {
		return ctx.Err()
	}
	d := &agentDatabase{Source: s, ctx: ctx, db: db, agent: agent, name: name}
	if !s.checkSchema(ctx, db, name, newestAgentSchema, "session_nodes.entry_json", "session_windows.session_key", "session_windows.created_at",
		"transcript_events.event_json", "transcript_events.event_zstd", "session_transcript_active_events.event_seq",
		"session_transcript_archives.archive_blob") {
		return ctx.Err()
	}
	for _, visitAll := range []func(func(*Session) error) error{d.archives, d.sessions} {
		if err := visitAll(visit); err != nil {
			return err
		}
	}
	d.leftovers()
	return ctx.Err()
}

// leftovers reports the files of sessions that OpenClaw has not moved to the database.
func (d *agentDatabase) leftovers() {
	dir := sessionsDir(d.agent)
	names := d.names(dir)
	d.strangers(dir, names, nil)
	has := map[string]bool{}
	for _, row := range d.list(1, "SELECT session_id FROM session_windows UNION SELECT session_id FROM session_transcript_archives UNION "+
		"SELECT session_id FROM session_transcript_cold_archives") {
		has[row[0]] = true
	}
	for _, name := range names {
		if id, kind := transcriptName(name); name == storeName || kind != "" && kind != strange && !has[id] {
			d.problem(path.Join(dir, name), ReasonUnsupported, "it is not in the agent's database, which is what is read",
				"let OpenClaw take it over with openclaw doctor --fix, then migrate again")
		}
	}
}

// agentDatabase reads the database of an agent.
type agentDatabase struct {
	*Source
	ctx   context.Context
	db    *sql.DB
	agent string
	name  string
}

// list reads rows of texts. An error is reported; what was read before it is returned.
func (d *agentDatabase) list(width int, query string, args ...any) (list [][]string) {
	rows, err := d.db.QueryContext(d.ctx, query, args...)
	if err != nil {
		d.unreadable(d.name, err)
		return nil
	}
	defer rows.Close()
	for rows.Next() {
		row := make([]string, width)
		into := make([]any, width)
		for i := range row {
			into[i] = &row[i]
		}
		if err = rows.Scan(into...); err != nil {
			break
		}
		list = append(list, row)
	}
	if err = errors.Join(err, rows.Err()); err != nil {
		d.unreadable(d.name, err)
	}
	return list
}

// sessions visits the sessions of the agent with all their transcripts.
func (d *agentDatabase) sessions(visit func(*Session) error) error {
	for _, row := range d.list(2, "SELECT session_key, current_session_id FROM session_nodes ORDER BY session_key") {
		key, id := row[0], row[1]
		place := d.name + "#" + key
		k, ok := d.key(place, key, d.agent)
		if !ok {
			continue
		}
		one := &Session{Agent: d.agent, Place: place, Key: k}
		var entry []byte
		err := d.db.QueryRowContext(d.ctx, "SELECT entry_json FROM session_nodes WHERE session_key = ?", key).Scan(&entry)
		if err == nil {
			err = json.Unmarshal(entry, &one.Entry)
		}
		if err != nil {
			d.problem(place, ReasonInvalid, "the session cannot be read: "+err.Error(), "")
			continue
		}
		one.Entry.SessionID = id
		for _, window := range d.list(1, "SELECT session_id FROM session_windows WHERE session_key = ? ORDER BY session_id = ?, created_at, session_id", key, id) {
			one.Transcripts = append(one.Transcripts, Transcript{ID: window[0], Place: d.name + "#" + window[0], Closed: "reset", each: func(visit func(Line) error) error {
				return d.eachEvent(window[0], visit)
			}})
		}
		if n := len(one.Transcripts); n == 0 || one.Transcripts[n-1].ID != id {
			d.problem(place, ReasonNoTranscript, "the session's own transcript "+id+" is not in the database", "")
			one.Archived = len(one.Transcripts) > 0
		} else {
			one.Transcripts[n-1].Closed = ""
		}
		if err := visit(one); err != nil {
			return err
		}
	}
	return nil
}

// eachEvent visits the entries of a transcript that belong to what was said. Those that a rewind has left aside are reported.
func (d *agentDatabase) eachEvent(id string, visit func(Line) error) error {
	rows, err := d.db.QueryContext(d.ctx, `SELECT seq, event_json, event_zstd, seq > 0 AND seq NOT IN (SELECT event_seq FROM session_transcript_active_events WHERE session_id = ?1)
 AND seq < (SELECT coalesce(max(event_seq), 0) FROM session_transcript_active_events WHERE session_id = ?1) FROM transcript_events WHERE session_id = ?1 ORDER BY seq`, id)
	if err != nil {
		d.unreadable(d.name+"#"+id, err)
		return nil
	}
	defer rows.Close()
	aside := 0
	for n := int64(1); rows.Next(); n++ {
		var seq int64
		var plain, packed sql.RawBytes
		var isAside bool
		if err := rows.Scan(&seq, &plain, &packed, &isAside); err != nil {
			d.unreadable(d.name+"#"+id, err)
			return nil
		}
		text, place := []byte(plain), fmt.Sprintf("%s#%s:%d", d.name, id, seq)
		if packed != nil {
			if text, err = unpack(packed, MaxLine); err != nil {
				d.problem(place, ReasonInvalid, "the compressed entry cannot be read: "+err.Error(), "")
				continue
			}
		}
		switch {
		case len(text) > MaxLine:
			d.problem(place, ReasonTooLong, fmt.Sprintf("the entry has %d bytes; at most %d can be stored", len(text), MaxLine), "")
		case !jsoncheck.Valid(text) || text[0] != '{':
			d.problem(place, ReasonInvalid, "the entry is not a JSON object", "")
		case isAside && !isReset(text):
			aside++
		default:
			if err := visit(Line{Number: seq + 1, Text: text, Size: int64(len(text))}); err != nil {
				return err
			}
		}
	}
	if err := rows.Err(); err != nil {
		d.unreadable(d.name+"#"+id, err)
	}
	if aside > 0 {
		d.problem(d.name+"#"+id, ReasonAside, fmt.Sprintf("%d entries belong to branches of the conversation that were left", aside), "")
	}
	return d.ctx.Err()
}

// ReasonAside is the reason of entries that a rewind has left aside.
const ReasonAside = "left_branch"

// isReset reports whether an entry is a reset: it is on no branch.
func isReset(text []byte) bool {
	var kind string
	_ = coordination.EachField(text, func(name string, raw []byte) bool { // text is valid JSON
		if name == "type" {
			kind, _ = coordination.StringValue(raw)
		}
		return kind == ""
	})
	return kind == "reset"
}

// archives visits the transcripts that a reset or a deletion has moved away. Those of a key that still has a session are of that key.
func (d *agentDatabase) archives(visit func(*Session) error) error {
	for _, row := range d.list(4, "SELECT session_id, generation, session_key, reason FROM session_transcript_archives ORDER BY created_at, session_id, generation") {
		id, generation, why := row[0], row[1], row[3]
		place := d.name + "#" + id
		key, ok := d.key(place, "agent:"+d.agent+":archive:"+id, d.agent)
		if !ok {
			continue
		}
		one := &Session{Agent: d.agent, Place: place, Key: key, Archived: true, Entry: Entry{SessionID: id}, Transcripts: []Transcript{{
			ID: id, Place: place, Closed: why, each: func(visit func(Line) error) error { return d.eachArchived(place, id, generation, visit) },
		}}}
		if err := visit(one); err != nil {
			return err
		}
	}
	for _, row := range d.list(2, "SELECT session_id, archive_name FROM session_transcript_cold_archives ORDER BY session_id") {
		d.problem(d.name+"#"+row[0], ReasonCold, "the transcript is in cold storage: "+row[1], "open the session in OpenClaw, which takes it out, then migrate again")
	}
	return nil
}

// ReasonCold is the reason of transcripts that OpenClaw has moved to cold storage.
const ReasonCold = "cold_storage"

// eachArchived visits the lines of an archive. Only what is packed is in memory, and one line.
func (d *agentDatabase) eachArchived(place, id, generation string, visit func(Line) error) error {
	rows, err := d.db.QueryContext(d.ctx, "SELECT encoding, archive_blob FROM session_transcript_archives WHERE session_id = ? AND generation = ?", id, generation)
	if err != nil {
		d.unreadable(place, err)
		return nil
	}
	defer rows.Close()
	var encoding string
	var blob sql.RawBytes // valid until rows are closed
	if rows.Next() {
		err = rows.Scan(&encoding, &blob)
	}
	if err = errors.Join(err, rows.Err()); err != nil {
		d.unreadable(place, err)
		return nil
	}
	var in io.Reader = bytes.NewReader(blob)
	if encoding == "zstd" {
		unpacked, err := unpacking(in)
		if err != nil {
			d.unreadable(place, err)
			return nil
		}
		defer unpacked.Close()
		in = unpacked
	}
	return d.eachOf(place, in, visit)
}
