package verify

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/archive"
	"github.com/pronto-lab/openclawd/maintenance/archiving"
)

func (p *verifier) chain(ctx context.Context, out *Outcome) error {
	proof, err := p.Log.Verify(ctx, p.ChainOnly, func(done, total int64) { p.Progress(Chain, done, total) })
	if err != nil {
		return err
	}
	p.report.Verification = &proof
	out.Counts = map[string]int64{"events": proof.Events, "streams": proof.Streams, "redacted": proof.Redacted, "archived": proof.Archived}
	return nil
}

// archives verifies the archives that exist, and that those recorded in the log exist.
func (p *verifier) archives(ctx context.Context, out *Outcome) error {
	out.hint = "restore the file from a copy (openclawd archive list); without it, its payloads are lost"
	dir := database.Archives(p.Log)
	there, listed := dir.List()
	missing, err := p.missing(ctx, there)
	switch {
	case err != nil:
		return err
	case listed != nil:
		out.find(Finding{What: listed.Error()})
	case len(there) == 0 && len(missing) == 0:
		return &SkipError{"nothing is archived"}
	}
	for i := range missing {
		m := &missing[i]
		err := &eventstore.ArchivedError{First: m.First, Last: m.Last, File: filepath.Join(dir.Path(), m.File), Err: fs.ErrNotExist}
		out.find(Finding{What: err.Error()})
	}
	var done, total, bytes int64
	for i := range there {
		total += there[i].Events
	}
	for i := range there {
		m := &there[i]
		var damaged *eventstore.ArchivedError
		var foreign *archiving.ForeignError
		switch err := archiving.Verify(ctx, p.Log, m); {
		case errors.As(err, &damaged), errors.As(err, &foreign):
			out.find(Finding{What: err.Error()})
		case err != nil:
			return err
		}
		done, bytes = done+m.Events, bytes+m.Bytes
		p.Progress(Archives, done, total)
	}
	out.Counts = map[string]int64{"archives": int64(len(there)), "events": total, "bytes": bytes}
	if out.Found > 0 {
		out.Code, out.Why = "archive_damaged", out.Findings[0].What
		if out.Found > 1 {
			out.Why = fmt.Sprintf("%s, and %d more", out.Why, out.Found-1)
		}
	}
	return nil
}

// missing lists the archives that are recorded in the log but do not exist.
func (p *verifier) missing(ctx context.Context, there []archive.Manifest) (missing []archive.Manifest, err error) {
	has := map[[2]int64]bool{}
	for i := range there {
		has[[2]int64{there[i].First, there[i].Last}] = true
	}
	err = p.Log.View(ctx, func(tx *sql.Tx) error {
		logged, err := database.Archived(ctx, tx)
		for _, a := range logged {
			if at := [2]int64{a.First, a.Last}; !has[at] {
				has[at] = true
				missing = append(missing, archive.Manifest{File: a.File, First: a.First, Last: a.Last})
			}
		}
		return err
	})
	return missing, err
}
