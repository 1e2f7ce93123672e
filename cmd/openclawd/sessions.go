package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/database"
	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/session"
)

// listing holds the flags of sessions.
type listing struct {
	stateDir, db         string
	agent, label, search string
	active               time.Duration
	limit                int
	asJSON               bool
}

const lastTextLetters = 40

func newSessions(p *process) *cobra.Command {
	var l listing
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List the sessions of the gateway, the last changed first",
		Long: `Lists the sessions that clients of the gateway and agents have, from the database; works beside a running server and without one.
A session has one transcript at a time: messages and tokens are those of the present one.

Sessions of another gateway are not among them. What its log says of work is in the work sessions of the Task-Monitor API.`,
		Example: `  openclawd sessions
  openclawd sessions --agent eden --active 24h
  openclawd sessions --search 배포 --json
  openclawd sessions show main`,
		Args: subcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.sessions(cmd.Context(), l) },

		SuggestionsMinimumDistance: nearEnough,
	}
	flags := cmd.Flags()
	addSessionsPlace(cmd, &l.stateDir, &l.db)
	flags.StringVar(&l.agent, "agent", "", "`ID` of the agent")
	flags.StringVar(&l.label, "label", "", "the one with this `LABEL`")
	flags.StringVar(&l.search, "search", "", "`TEXT` in key, label, session id or title")
	flags.DurationVar(&l.active, "active", 0, "changed within `TIME`, e.g. 24h")
	flags.IntVar(&l.limit, "limit", 50, "at most `N`; 0: all")
	flags.BoolVar(&l.asJSON, jsonFlag, false, "answer in JSON")
	cmd.AddCommand(newSessionsShow(p))
	return cmd
}

func addSessionsPlace(cmd *cobra.Command, stateDir, db *string) {
	cmd.Flags().StringVar(stateDir, "state-dir", "", "OpenClaw's state `DIR` (default ~/.openclaw)")
	addDB(cmd, db)
}

// sessionAnswer is a session in JSON. Times are ms since 1970.
type sessionAnswer struct {
	Key        string                     `json:"key"`
	Kind       string                     `json:"kind"`
	AgentID    string                     `json:"agentId,omitempty"`
	Label      string                     `json:"label,omitempty"`
	Title      string                     `json:"title,omitempty"`
	SessionID  string                     `json:"sessionId"`
	SpawnedBy  string                     `json:"spawnedBy,omitempty"`
	CreatedAt  int64                      `json:"createdAt"`
	UpdatedAt  int64                      `json:"updatedAt"`
	Messages   int64                      `json:"messages"`
	LastAuthor string                     `json:"lastAuthor,omitempty"`
	LastText   string                     `json:"lastText,omitempty"`
	Tokens     *tokensAnswer              `json:"tokens,omitempty"`
	Model      string                     `json:"model,omitempty"`
	Channel    string                     `json:"channel,omitempty"`
	Settings   map[string]json.RawMessage `json:"settings,omitempty"`
}

// tokensAnswer is what a model counted for its newest answer.
type tokensAnswer struct {
	Input  int64 `json:"input"`
	Output int64 `json:"output"`
	Total  int64 `json:"total"`
}

func answerOf(s *session.Session) sessionAnswer {
	a := sessionAnswer{Key: s.Key, Kind: string(s.Kind), AgentID: s.Agent, Label: s.Label, Title: s.Title, SessionID: s.ID, SpawnedBy: s.Spawner,
		CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, Messages: s.Messages, LastAuthor: s.LastRole, LastText: s.LastText, Model: s.Model,
		Channel: s.LastChannel, Settings: s.Settings}
	if s.TotalTokens > 0 {
		a.Tokens = &tokensAnswer{s.InputTokens, s.OutputTokens, s.TotalTokens}
	}
	return a
}

// sessionsAnswer is the answer of sessions.
type sessionsAnswer struct {
	Sessions []sessionAnswer `json:"sessions"`
	Count    int             `json:"count"`
}

func (p *process) sessions(ctx context.Context, l listing) error {
	q := session.Query{Agent: strings.ToLower(l.agent), Label: l.label, Search: l.search, Limit: l.limit, Global: true, Unknown: true}
	if l.limit < 0 {
		return &settings.Error{Setting: "--limit", Value: strconv.Itoa(l.limit), Mend: "give 1 or more, or 0 for all"}
	}
	if l.active < 0 {
		return &settings.Error{Setting: "--active", Value: l.active.String(), Mend: "give a time such as 24h"}
	}
	if l.active > 0 {
		q.Since = p.now().Add(-l.active).UnixMilli()
	}
	var list []session.Session
	err := p.readSessions(ctx, l.stateDir, l.db, func(tx *sql.Tx) (err error) {
		list, err = session.List(ctx, tx, q)
		return err
	})
	if err != nil {
		return err
	}
	if l.asJSON {
		answer := sessionsAnswer{Sessions: []sessionAnswer{}, Count: len(list)}
		for i := range list {
			answer.Sessions = append(answer.Sessions, answerOf(&list[i]))
		}
		return output.JSON(p.stdout, answer)
	}
	return p.writeSessions(list, l)
}

// readSessions reads the database that the flags name.
func (p *process) readSessions(ctx context.Context, stateDir, db string, read func(*sql.Tx) error) error {
	log, err := p.openPlace(ctx, stateDir, db)
	if err != nil {
		return err
	}
	defer log.Close()
	return log.View(ctx, read)
}

// openPlace opens the database that the flags name, to read it.
func (p *process) openPlace(ctx context.Context, stateDir, db string) (*sqlite.DB, error) {
	switch {
	case db == "" && stateDir != "":
		db = filepath.Join(stateDir, database.Name)
	case db == "":
		at, err := p.place(asking{})
		if err != nil {
			return nil, err
		}
		_, _ = at.Status(ctx) // where a server answers, its database is meant, as everywhere
		db = at.DB
	}
	return p.openToRead(ctx, db)
}

func (p *process) writeSessions(list []session.Session, l listing) error {
	if len(list) == 0 {
		text := `no sessions yet: clients of the gateway make them, e.g. openclawd call sessions.patch '{"key": "main", "label": "lab"}'` + shownPlace(l.stateDir, l.db)
		if l.agent != "" || l.label != "" || l.search != "" || l.active != 0 {
			text = "no session is like that; openclawd sessions lists all"
		}
		_, err := fmt.Fprintln(p.stdout, text)
		return err
	}
	rows := make([][]string, len(list))
	for i := range list {
		s := &list[i]
		tokens := ""
		if s.TotalTokens > 0 {
			tokens = output.Thousands(s.TotalTokens)
		}
		rows[i] = []string{s.Key, s.Label, ago(p.now(), time.UnixMilli(s.UpdatedAt)), output.Thousands(s.Messages), tokens, clip(s.LastText, lastTextLetters)}
	}
	if err := output.Table(p.stdout, []string{"KEY", "LABEL", "UPDATED", "MESSAGES", "TOKENS", "LAST"}, rows); err != nil {
		return err
	}
	if l.limit > 0 && len(list) == l.limit {
		_, err := fmt.Fprintf(p.stdout, "the newest %s; --limit 0 lists all\n", output.Count(int64(len(list)), "session"))
		return err
	}
	_, err := fmt.Fprintln(p.stdout, output.Count(int64(len(list)), "session"))
	return err
}
