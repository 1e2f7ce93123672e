package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

type sessionListFlags struct {
	listFlags
	agent, label, search string
	active               time.Duration
}

const lastTextLetters = 40

func newSessions(p *process) *cobra.Command {
	var l sessionListFlags
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List the sessions of the gateway, most recently changed first",
		Long: `Lists the sessions of gateway clients and agents, from the database; works with or without a running server. A session has one current
transcript: the counts of messages and tokens refer to it.

Sessions of another gateway are not included. Work recorded in its log is in the work sessions of the Task-Monitor API.`,
		Example: `  openclawd sessions
  openclawd sessions --agent eden --active 24h
  openclawd sessions --search 배포 --json
  openclawd sessions show main`,
		Args: subcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.sessions(cmd.Context(), l) },

		SuggestionsMinimumDistance: nearEnough,
	}
	flags := cmd.Flags()
	l.readFlags.add(cmd)
	flags.StringVar(&l.agent, "agent", "", "`ID` of the agent")
	flags.StringVar(&l.label, "label", "", "filter by `LABEL`")
	flags.StringVar(&l.search, "search", "", "filter by `TEXT` in key, label, session id or title")
	flags.DurationVar(&l.active, "active", 0, "only sessions changed within `TIME`, e.g. 24h")
	flags.IntVar(&l.limit, "limit", 50, "maximum number of results `N`; 0: all")
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
	Tokens     *coordination.SessionUsage `json:"tokens,omitempty"` // of its newest answer
	Model      string                     `json:"model,omitempty"`
	Channel    string                     `json:"channel,omitempty"`
	Settings   map[string]json.RawMessage `json:"settings,omitempty"`
}

func answerOf(s *sessions.Session) sessionAnswer {
	a := sessionAnswer{Key: s.Key, Kind: string(s.Kind), AgentID: s.Agent, Label: s.Label, Title: s.Title, SessionID: s.ID, SpawnedBy: s.Spawner,
		CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, Messages: s.Messages, LastAuthor: s.LastRole, LastText: s.LastText, Model: s.Model,
		Channel: s.LastChannel, Settings: s.Settings}
	if s.TotalTokens > 0 {
		a.Tokens = &coordination.SessionUsage{Input: s.InputTokens, Output: s.OutputTokens, Total: s.TotalTokens}
	}
	return a
}

func (p *process) sessions(ctx context.Context, l sessionListFlags) error {
	q := sessions.Query{Agent: strings.ToLower(l.agent), Label: l.label, Search: l.search, Limit: l.limit, Global: true, Unknown: true}
	if l.limit < 0 {
		return &config.SettingError{Setting: "--limit", Value: strconv.Itoa(l.limit), HintText: "give 1 or more, or 0 for all"}
	}
	if l.active < 0 {
		return &config.SettingError{Setting: "--active", Value: l.active.String(), HintText: "give a duration such as 24h"}
	}
	if l.active > 0 {
		q.Since = p.now().Add(-l.active).UnixMilli()
	}
	sessionList := list[sessions.Session, sessionAnswer]{
		read:     func(ctx context.Context, tx *sql.Tx) ([]sessions.Session, error) { return sessions.List(ctx, tx, q) },
		name:     "sessions",
		answer:   answerOf,
		thing:    "session",
		endless:  true,
		none:     `no sessions yet: gateway clients create them, e.g. openclawd call sessions.patch '{"key": "main", "label": "lab"}'` + shownPlace(l.stateDir, l.db),
		noMatch:  "no matching sessions; try: openclawd sessions",
		filtered: l.agent+l.label+l.search != "" || l.active != 0,
		head:     []string{"KEY", "LABEL", "UPDATED", "MESSAGES", "TOKENS", "LAST"},
		row: func(s *sessions.Session, now time.Time) []string {
			tokens := ""
			if s.TotalTokens > 0 {
				tokens = output.Thousands(s.TotalTokens)
			}
			return []string{s.Key, s.Label, ago(now, time.UnixMilli(s.UpdatedAt)), output.Thousands(s.Messages), tokens, clip(s.LastText, lastTextLetters)}
		},
	}
	return sessionList.print(ctx, p, &l.listFlags)
}

// readSessions reads from the selected database.
func (p *process) readSessions(ctx context.Context, stateDir, db string, read func(*sql.Tx) error) error {
	log, err := p.openPlace(ctx, stateDir, db)
	if err != nil {
		return err
	}
	defer log.Close()
	return log.View(ctx, read)
}

// openPlace opens the selected database for reading.
func (p *process) openPlace(ctx context.Context, stateDir, db string) (*sqlite.DB, error) {
	switch {
	case db == "" && stateDir != "":
		db = filepath.Join(stateDir, database.Name)
	case db == "":
		at, err := p.place(serverFlags{})
		if err != nil {
			return nil, err
		}
		_, _ = at.Status(ctx) // if a server answers, its database is used, as by other commands
		db = at.DB
	}
	return p.openToRead(ctx, db)
}
