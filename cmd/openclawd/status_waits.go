package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/approval"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/projections/continuations"
	"github.com/pronto-lab/openclawd/projections/pending"
	"github.com/pronto-lab/openclawd/projections/sandboxes"
	"github.com/pronto-lab/openclawd/services/continuer"
)

// statusWaits is what waits for people, and which agents are in back-off. It is read from the database, like openclawd
// approvals.
type statusWaits struct {
	Approvals  *approvalsState        `json:"approvals,omitempty"`
	Backoff    []agentBackoff         `json:"backoff,omitempty"`    // agents in back-off after failed prompts, by id
	Unattended []continuer.Unattended `json:"unattended,omitempty"` // tasks of agents that are not configured
	Sandboxes  []sandboxes.Probe      `json:"sandboxes,omitempty"`  // what the last probes of agents' sandboxes have found
	Unread     string                 `json:"unread,omitempty"`     // why these are missing: the database is on another machine, or unreadable
}

// approvalsState is the number of pending approvals.
type approvalsState struct {
	Tasks    int   `json:"tasks"`
	Plans    int   `json:"plans"`
	Calls    int   `json:"calls,omitempty"`    // of tools
	OldestMs int64 `json:"oldestMs,omitempty"` // wait of the longest-waiting one; absent: unknown
}

// agentBackoff is an agent's back-off.
type agentBackoff struct {
	AgentID             string `json:"agentId"`
	Cause               string `json:"cause"` // of the last failure
	ConsecutiveFailures int    `json:"consecutiveFailures"`
	BackoffUntilMs      int64  `json:"backoffUntilMs"` // ms since 1970
}

// readWaits reads the database at a path: the answering server's, if any. team is the configured agents; nil: unknown.
func (p *process) readWaits(ctx context.Context, path string, team *config.Config) (w statusWaits) {
	log, err := p.openToRead(ctx, path)
	if err != nil {
		return statusWaits{Unread: err.Error()}
	}
	defer log.Close()
	if err := log.View(ctx, func(tx *sql.Tx) error { return w.read(ctx, tx, team, p.now()) }); err != nil {
		return statusWaits{Unread: err.Error()}
	}
	return w
}

func (w *statusWaits) read(ctx context.Context, tx *sql.Tx, team *config.Config, now time.Time) error {
	waiting, err := pending.Approvals(ctx, tx, pending.Query{Limit: 1, Now: now.UnixMilli()})
	if err != nil {
		return err
	}
	w.Approvals = &approvalsState{Tasks: waiting.Kinds[approval.OfTask].N, Plans: waiting.Kinds[approval.OfPlan].N, Calls: waiting.Kinds[approval.OfCall].N}
	for _, of := range waiting.Kinds {
		if at := of.SinceMs; at > 0 {
			w.Approvals.OldestMs = max(w.Approvals.OldestMs, now.UnixMilli()-at)
		}
	}
	if w.Unattended, err = continuer.TasksUnattended(ctx, tx, team); err != nil {
		return err
	}
	if w.Sandboxes, err = sandboxes.Last(ctx, tx, ""); err != nil {
		return err
	}
	agents, err := continuations.List(ctx, tx)
	for i := range agents {
		if a := &agents[i]; a.BackoffUntil > now.UnixMilli() {
			w.Backoff = append(w.Backoff, agentBackoff{a.AgentID, a.Cause, a.Failures, a.BackoffUntil})
		}
	}
	return err
}

// approvalsLine shows the number of pending approvals, the longest wait, and how to list them.
func (w *statusWaits) approvalsLine() string {
	a := w.Approvals
	switch {
	case a == nil:
		return "unknown: " + w.Unread
	case a.Tasks+a.Plans+a.Calls == 0:
		return "nothing waits"
	}
	var parts []string
	if a.Tasks > 0 {
		parts = append(parts, output.Count(int64(a.Tasks), "task"))
	}
	if a.Plans > 0 {
		parts = append(parts, output.Count(int64(a.Plans), "plan"))
	}
	if a.Calls > 0 {
		parts = append(parts, output.Count(int64(a.Calls), "call"))
	}
	line := strings.Join(parts, " and ") + " to decide"
	if a.OldestMs > 0 {
		line += ", the first for " + output.Duration(a.OldestMs)
	}
	return line + " (openclawd approvals)"
}

// backoffLine names agents in back-off, as many as fit on a line.
func (w *statusWaits) backoffLine() string {
	const named = 3
	switch {
	case w.Approvals == nil:
		return "unknown: " + w.Unread
	case len(w.Backoff) == 0:
		return "no agent"
	}
	var parts []string
	for i := range w.Backoff[:min(len(w.Backoff), named)] {
		b := &w.Backoff[i]
		parts = append(parts, fmt.Sprintf("%s until %s (%s)", b.AgentID, output.Time(b.BackoffUntilMs), b.Cause))
	}
	if more := len(w.Backoff) - named; more > 0 {
		parts = append(parts, output.Thousands(int64(more))+" more")
	}
	return strings.Join(parts, ", ") + "; openclawd continuation explain AGENT shows details"
}
