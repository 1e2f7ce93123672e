package move

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/output"
)

// Request is a move as a person asks for it.
type Request struct {
	Options           // Switch and Node are set by Run; From and To may be "file"
	Configured bool   // From is what the configuration says
	NoConfig   bool   // leave the configuration as it is
	Token      string // see NewSetting
}

// Answer is what was done. It is the JSON output of store move.
type Answer struct {
	*Report
	*Setting
}

// Run moves the log, and changes the configuration unless it is not to.
func (r Request) Run(ctx context.Context, document *config.Document) (*Answer, error) {
	if r.To == "" {
		return nil, &config.SettingError{Setting: "--to", HintText: "give the URL of a shared log, or file"}
	}
	configured := document.Config().SharedLog()
	if r.Configured {
		if r.From = configured.URL; r.From == r.To && !isCopy(ctx, r.DB, r.Now) {
			r.From = alone // cluster.log was set before the log was moved there
		}
	}
	r.From, r.To = urlOf(r.From), urlOf(r.To)
	r.Relaxed = r.Relaxed || configured.Relaxed
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("read the name of this machine: %w", err)
	}
	r.Node = "store move on " + host
	setting := NewSetting(document, r.To, r.Relaxed, r.Token)
	if !r.NoConfig {
		r.Switch = setting.Write
	}
	report, err := Run(ctx, r.Options)
	if invalid, is := errors.AsType[*eventstore.InvalidError](err); is {
		return nil, &config.SettingError{Setting: invalid.Field, Value: invalid.Value, HintText: invalid.HintText}
	}
	return &Answer{report, setting}, err
}

// isCopy reports whether a database is a copy of a shared log, or does not exist, so that it can become one.
func isCopy(ctx context.Context, path string, now func() time.Time) bool {
	db, err := database.OpenToRead(ctx, path, now)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	copied, err := db.IsCopy(ctx)
	return errors.Join(err, db.Close()) == nil && copied
}

// urlOf returns the URL of a shared log; "" for the file of the node alone.
func urlOf(where string) string {
	if where == alone {
		return ""
	}
	return where
}

// Write says what was done.
func (a *Answer) Write(to, notes io.Writer) error {
	for _, doubt := range a.Doubts {
		fmt.Fprintf(notes, "note: %s\n", doubt)
	}
	verb, events, end := "moved", a.Events, fmt.Sprintf("verified; change %s before a server starts: %s", a.File, a.Text)
	switch {
	case a.DryRun:
		verb, events, end = "would move", a.Events+a.Fetched, "nothing was changed"
	case a.Written:
		end = "verified; changed " + a.File
	}
	_, err := fmt.Fprintf(to, "%s %s from %s to %s; head %.12s\n  %s fetched first, %s copied, %s there already\n%s\n", verb, output.Count(events, "event"), a.From, a.To, a.Head,
		output.Thousands(a.Fetched), output.Thousands(a.Copied), output.Thousands(a.Found), end)
	return err
}
