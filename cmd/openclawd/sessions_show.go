package main

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

type sessionShowFlags struct {
	stateDir, db, transcript string
	limit                    int
	all, asJSON              bool
}

const maxShownBytes = 64 << 20 // of the messages of one answer

func newSessionsShow(p *process) *cobra.Command {
	var s sessionShowFlags
	cmd := &cobra.Command{
		Use:   "show KEY|LABEL|ID",
		Short: "Show a session and its messages",
		Long: `Shows a session and the newest messages of its transcript in chronological order. A session is named by its key (main stands for the main
session of the default agent, a bare name for another session of that agent), by its label or by the id of its transcript.

A reset starts a new transcript and keeps the old one: --all-transcripts lists them, --transcript shows one of them.`,
		Example: `  openclawd sessions show main
  openclawd sessions show 본부 --limit 5
  openclawd sessions show agent:eden:main --all-transcripts
  openclawd sessions show main --transcript 6bd56a9f-6a84-479f-8127-c4b06365f0b9 --json`,
		Args:              positional(cobra.ExactArgs(1)),
		RunE:              func(cmd *cobra.Command, args []string) error { return p.showSession(cmd.Context(), s, args[0]) },
		ValidArgsFunction: completeFirst(func(ctx context.Context) []cobra.Completion { return p.completeSessions(ctx, s) }),
	}
	flags := cmd.Flags()
	addSessionsPlace(cmd, &s.stateDir, &s.db)
	flags.IntVar(&s.limit, "limit", 20, "show the newest `N` messages; 0: all")
	flags.StringVar(&s.transcript, "transcript", "", "`ID` of an older transcript to show")
	flags.BoolVar(&s.all, "all-transcripts", false, "list all transcripts instead of messages")
	flags.BoolVar(&s.asJSON, jsonFlag, false, "print JSON")
	return cmd
}

// shownSession is the JSON output of sessions show. Session is null for a deleted one; either Transcripts or Messages
// is present.
type shownSession struct {
	Session     *sessionAnswer     `json:"session"`
	Key         string             `json:"key"`
	Transcript  string             `json:"transcript,omitempty"` // of the messages
	Messages    []messageAnswer    `json:"messages,omitzero"`
	Transcripts []transcriptAnswer `json:"transcripts,omitzero"`
}

// messageAnswer is a message of a transcript.
type messageAnswer struct {
	Seq      int64                        `json:"seq"`
	At       int64                        `json:"at"` // ms since 1970
	Redacted bool                         `json:"redacted,omitempty"`
	Archived bool                         `json:"archived,omitempty"`
	Data     *coordination.SessionMessage `json:"data,omitempty"`
}

// transcriptAnswer is one of a session's transcripts.
type transcriptAnswer struct {
	ID       string `json:"id"`
	OpenedAt int64  `json:"openedAt"`
	ClosedAt int64  `json:"closedAt,omitempty"` // absent: the current one
	Closed   string `json:"closed,omitempty"`   // new, reset, deleted
	Messages int64  `json:"messages"`
}

func (p *process) showSession(ctx context.Context, s sessionShowFlags, name string) error {
	if s.limit < 0 {
		return &config.SettingError{Setting: "--limit", Value: strconv.Itoa(s.limit), HintText: "give 1 or more, or 0 for all"}
	}
	if s.limit == 0 {
		s.limit = int(^uint(0) >> 1)
	}
	agent, err := p.defaultAgent(s.stateDir, s.db)
	if err != nil {
		return err
	}
	var shown shownSession
	err = p.readSessions(ctx, s.stateDir, s.db, func(tx *sql.Tx) error { return shown.read(ctx, tx, s, name, agent) })
	if err != nil {
		return err
	}
	if s.asJSON {
		return output.JSON(p.stdout, shown)
	}
	return shown.write(p.stdout)
}

// defaultAgent is the agent of session names without one.
func (p *process) defaultAgent(stateDir, db string) (string, error) {
	if stateDir == "" && db != "" {
		stateDir = filepath.Dir(db)
	}
	path, err := p.configPath(stateDir, nil)
	if err != nil {
		return "", err
	}
	loaded, _ := config.Load(path, p.getenv)
	return loaded.DefaultAgentID(), nil
}

func (a *shownSession) read(ctx context.Context, tx *sql.Tx, s sessionShowFlags, name, agent string) error {
	found, key, err := findSession(ctx, tx, name, agent)
	if err != nil {
		return err
	}
	if a.Key = key; found != nil {
		answer := answerOf(found)
		a.Session, a.Key, a.Transcript = &answer, found.Key, found.ID
	}
	list, err := sessions.Transcripts(ctx, tx, a.Key)
	if err != nil {
		return err
	}
	if found == nil && len(list) == 0 {
		return unknown("session", name, "no_session", "openclawd sessions lists the sessions")
	}
	if s.all {
		a.Transcript = ""
		return a.list(list)
	}
	if s.transcript != "" {
		a.Transcript = ""
	}
	for _, t := range list {
		if s.transcript == t.ID || found == nil && a.Transcript == "" && s.transcript == "" {
			a.Transcript = t.ID
		}
	}
	if a.Transcript == "" {
		return &config.SettingError{Setting: "--transcript", Value: s.transcript, Err: fmt.Errorf("%s has no such transcript", a.Key),
			HintText: "openclawd sessions show " + a.Key + " --all-transcripts lists them"}
	}
	messages, err := sessions.Newest(ctx, tx, a.Transcript, s.limit, maxShownBytes)
	a.Messages = []messageAnswer{}
	for i := range messages {
		m := messageAnswer{Seq: messages[i].Seq, At: messages[i].At, Redacted: messages[i].Redacted && !messages[i].Archived, Archived: messages[i].Archived}
		if !messages[i].Redacted {
			m.Data = &messages[i].Data
		}
		a.Messages = append(a.Messages, m)
	}
	return err
}

func (a *shownSession) list(list []sessions.Transcript) error {
	a.Transcripts = []transcriptAnswer{}
	for _, t := range list {
		a.Transcripts = append(a.Transcripts, transcriptAnswer{t.ID, t.OpenedAt, t.ClosedAt, t.Closed, t.Messages})
	}
	return nil
}

// findSession finds a session by name. If there is none, key is the one that the name may stand for, if any.
func findSession(ctx context.Context, tx *sql.Tx, name, agent string) (found *sessions.Session, key string, err error) {
	if k, bad := coordination.SessionKeyOf(name, agent); bad == nil {
		key = k.String()
		if found, err = sessions.ByKey(ctx, tx, key); found != nil || err != nil {
			return found, key, err
		}
	}
	labelled, err := sessions.ByLabel(ctx, tx, name, "")
	if err != nil {
		return nil, "", err
	}
	if len(labelled) > 0 {
		return &labelled[0], labelled[0].Key, nil
	}
	found, err = sessions.ByID(ctx, tx, name)
	return found, key, err
}

func (a *shownSession) write(w io.Writer) error {
	if s := a.Session; s != nil {
		lines := [][2]string{{"key", s.Key}, {"label", s.Label}, {"title", s.Title}, {"session", s.SessionID}, {"spawned by", s.SpawnedBy},
			{"updated", output.Time(s.UpdatedAt) + " UTC"}, {"model", s.Model}}
		for _, l := range lines {
			if l[1] == "" {
				continue
			}
			if _, err := fmt.Fprintf(w, "%-10s %s\n", l[0], output.Printable(l[1])); err != nil {
				return err
			}
		}
	} else if _, err := fmt.Fprintf(w, "%s was deleted; its transcripts are kept\n", a.Key); err != nil {
		return err
	}
	if a.Transcripts != nil {
		return a.writeTranscripts(w)
	}
	for i := range a.Messages {
		if err := a.Messages[i].write(w); err != nil {
			return err
		}
	}
	text := "no messages yet"
	if n := len(a.Messages); n > 0 {
		text = output.Count(int64(n), "message") + " of " + a.Transcript
	}
	_, err := fmt.Fprintf(w, "\n%s\n", text)
	return err
}

func (a *shownSession) writeTranscripts(w io.Writer) error {
	rows := make([][]string, len(a.Transcripts))
	for i, t := range a.Transcripts {
		closed := "present"
		if t.ClosedAt != 0 {
			closed = output.Time(t.ClosedAt)
		}
		rows[i] = []string{t.ID, output.Time(t.OpenedAt), closed, t.Closed, output.Thousands(t.Messages)}
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return output.Table(w, []string{"TRANSCRIPT", "OPENED (UTC)", "CLOSED", "BY", "MESSAGES"}, rows)
}

// write prints a message: time and author, then the indented text.
func (m *messageAnswer) write(w io.Writer) error {
	who, text := "", "redacted"
	if m.Archived {
		text = fmt.Sprintf("archived (openclawd events show %d)", m.Seq)
	}
	if d := m.Data; d != nil {
		who, text = " "+d.Author, messageText(d)
		if d.ToolName != "" {
			who += " " + d.ToolName
		}
		if d.IsError || d.Error != "" {
			who += " (error)"
		}
	}
	if _, err := fmt.Fprintf(w, "\n%s%s\n", output.Time(m.At), output.Printable(who)); err != nil {
		return err
	}
	for line := range strings.Lines(text) {
		if _, err := fmt.Fprintf(w, "  %s\n", output.Printable(strings.TrimRight(line, "\r\n"))); err != nil {
			return err
		}
	}
	return nil
}

// messageText is a message as text. Other content blocks show their type.
func messageText(d *coordination.SessionMessage) string {
	parts := []string{}
	if d.Text != "" {
		parts = append(parts, d.Text)
	}
	var blocks []struct{ Type, Name, Text string }
	if json.Unmarshal(d.Content, &blocks) == nil {
		for _, b := range blocks {
			switch {
			case b.Type != "text":
				parts = append(parts, "["+strings.TrimSpace(b.Type+" "+b.Name)+"]")
			case d.Text == "":
				parts = append(parts, b.Text)
			}
		}
	}
	if d.Error != "" {
		parts = append(parts, d.Error)
	}
	return strings.Join(parts, "\n")
}

// completeSessions completes session keys, with labels or titles as descriptions. Without a database it offers
// nothing.
func (p *process) completeSessions(ctx context.Context, s sessionShowFlags) (offers []cobra.Completion) {
	const shown = 200
	return completeFrom(ctx, p, s.stateDir, s.db, func(tx *sql.Tx) ([]sessions.Session, error) {
		return sessions.List(ctx, tx, sessions.Query{Global: true, Unknown: true, Limit: shown})
	}, func(s *sessions.Session) (key, what string) {
		return s.Key, output.Printable(clip(cmp.Or(s.Label, s.Title), lastTextLetters))
	})
}
