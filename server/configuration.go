package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// configuration gives the gateway access to openclaw.json.
type configuration struct {
	p     *Program
	write func(next *config.Document, note []byte) error

	mu    sync.Mutex // held while the files are read: concurrent callers get the same result
	files []string
	seen  []os.FileInfo    // state of the files when last was read from them
	last  *config.Document // nil if it may differ from the files
}

func (p *Program) newConfiguration() *configuration {
	return &configuration{p: p, write: (*config.Document).Write, files: []string{p.config.path}}
}

// InForce implements gateway.Configuration.
func (c *configuration) InForce() *config.Config {
	live := c.p.config
	live.mu.Lock()
	defer live.mu.Unlock()
	return live.inForce
}

const (
	// clockGrain is the minimum time between two changes of a file for which every file system records different
	// times.
	clockGrain = 2 * time.Second
	// maxKept is the largest document, in bytes of JSON, that is cached. In memory it takes some fifty times as many.
	maxKept = 1 << 20
)

// Document implements gateway.Configuration. The files are read again if they have changed, or may have.
func (c *configuration) Document() (*config.Document, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, seen := c.p.opts.Now(), statFiles(c.files)
	if c.last != nil && unmoved(seen, c.seen) {
		return c.last, nil
	}
	d := config.ReadDocument(c.p.config.path, c.p.config.getenv)
	c.last, c.seen = nil, seen
	fresh := func(info os.FileInfo) bool { return info != nil && now.Sub(info.ModTime()) < clockGrain }
	if files := d.Config().Files; !slices.Equal(files, c.files) {
		c.files = files
	} else if !slices.ContainsFunc(seen, fresh) && len(d.Resolved()) <= maxKept {
		c.last = d
	}
	return d, nil
}

// forget forces the files to be read again.
func (c *configuration) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = nil
}

// Write implements gateway.Configuration. Once the file is changed the operation is never abandoned: if the log cannot record the change,
// that is retried, after a crash too. An error beside a list means that the change is in force but may be lost in a power failure.
func (c *configuration) Write(ctx context.Context, next *config.Document, what coordination.ConfigPatched) (waiting []string, err error) {
	p, live := c.p, c.p.config
	live.turn.Lock()
	defer live.turn.Unlock()
	if err := p.refusesSettings(next.Config()); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	if err := p.settlePatch(ctx); err != nil {
		return nil, err
	}
	note, err := newPatchNote(what, p.opts.Now().UnixMilli())
	if err != nil {
		return nil, err
	}
	unsure := c.write(next, note)
	if unsure != nil {
		c.forget()
		if _, done, err := config.Unsettled(live.path); !done || err != nil {
			return nil, diskFull(live.path, unsure)
		}
	}
	live.logger.Info("a client changed the configuration", "method", what.Method, "by", what.By, "changed", what.Changed)
	if wait := p.reloadInTurn(ctx, false); wait > 0 {
		select {
		case live.later <- wait:
		default: // it is read again anyway
		}
	}
	return append([]string{}, live.status.Restart...), unsure
}

// diskFull distinguishes a full disk, which can recover without a restart, from other faults.
func diskFull(path string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return &eventstore.DiskFullError{Path: path, Err: err}
	}
	return err
}

// refusesSettings says why a valid configuration cannot be used by the program as it runs, before it is written.
func (p *Program) refusesSettings(next *config.Config) error {
	_, _, err := p.settingsOf(next)
	if err == nil {
		return nil
	}
	issue := config.Issue{Message: err.Error()}
	if bad, ok := errors.AsType[*config.SettingError](err); ok {
		issue = config.Issue{Path: bad.Setting, Message: bad.Err.Error() + " (" + bad.HintText + ")"}
	}
	return &config.InvalidError{Issues: []config.Issue{issue}}
}

// patchNote is a file kept beside the configuration while it is changed: the event of the change, with its id, so that it is appended at
// most once.
type patchNote struct {
	ID   string          `json:"id"`
	TS   int64           `json:"ts"`
	Data json.RawMessage `json:"data"`
}

func newPatchNote(what coordination.ConfigPatched, at int64) ([]byte, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("generate event id: %w", err)
	}
	data, err := json.Marshal(what)
	if err != nil {
		return nil, fmt.Errorf("write configuration event: %w", err)
	}
	return json.Marshal(patchNote{id.String(), at, data})
}

// settlePatch appends the event of a file change that is not in the log yet, if the change was made.
func (p *Program) settlePatch(ctx context.Context) error {
	if p.follows() {
		return nil // the next writer on this machine does
	}
	path := p.config.path
	note, done, err := config.Unsettled(path)
	if err != nil {
		return fmt.Errorf("look for a pending configuration change: %w", err)
	}
	if note != nil && done {
		if err := p.appendPatch(ctx, note); err != nil {
			return fmt.Errorf("append configuration change: %w", err)
		}
	}
	if err := config.Settle(path); err != nil {
		return fmt.Errorf("finish configuration change: %w", err)
	}
	return nil
}

func (p *Program) appendPatch(ctx context.Context, text []byte) error {
	var note patchNote
	if err := json.Unmarshal(text, &note); err != nil {
		p.config.logger.Error("cannot read the record of a configuration change", "err", err)
		return nil
	}
	id, err := eventstore.ParseID(note.ID)
	if err != nil {
		p.config.logger.Error("cannot read the record of a configuration change", "err", err)
		return nil
	}
	_, err = p.log.Append(ctx, eventstore.StreamAppend{Stream: coordination.ConfigPatchStream, Events: []eventstore.NewEvent{
		{ID: id, Type: coordination.TypeConfigPatched, TS: note.TS, Actor: eventstore.ActorHuman, Data: note.Data},
	}})
	return err
}
