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

	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// configuration is openclaw.json for the gateway.
type configuration struct {
	p     *Program
	write func(next *config.Document, note []byte) error

	mu    sync.Mutex // held while the files are read: who asks meanwhile gets the same
	files []string
	seen  []os.FileInfo    // of files, when last was read from them
	last  *config.Document // nil if nobody can tell whether it is as the files are
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
	// clockGrain is how far apart two changes of a file have to be to have different times on every file system.
	clockGrain = 2 * time.Second
	// maxKept is how many bytes of JSON a document may be that is kept. It takes some fifty times as many.
	maxKept = 1 << 20
)

// Document implements gateway.Configuration. The files are read again if they are not those that were read last, or nobody can tell.
func (c *configuration) Document() (*config.Document, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, seen := c.p.opts.Now(), look(c.files)
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

// forget has the files read again, whatever they look like.
func (c *configuration) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = nil
}

// Write implements gateway.Configuration. Once the file is changed nothing is given up: what the log does not take yet it is told later,
// after a crash too. An error beside a list says that the change is in force, but that a power cut may undo it.
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

// diskFull tells a disk without room from other faults, for it mends by itself.
func diskFull(path string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return &eventstore.DiskFullError{Path: path, Err: err}
	}
	return err
}

// refusesSettings says why a configuration without faults cannot be used by the program as it runs, before it is written.
func (p *Program) refusesSettings(next *config.Config) error {
	_, _, err := p.settingsOf(next)
	if err == nil {
		return nil
	}
	issue := config.Issue{Message: err.Error()}
	if bad, ok := errors.AsType[*settings.Error](err); ok {
		issue = config.Issue{Path: bad.Setting, Message: bad.Err.Error() + " (" + bad.Mend + ")"}
	}
	return &config.InvalidError{Issues: []config.Issue{issue}}
}

// patchNote is what lies beside the file while it is changed: the event of the change, with the id that makes it one however often it is
// appended.
type patchNote struct {
	ID   string          `json:"id"`
	TS   int64           `json:"ts"`
	Data json.RawMessage `json:"data"`
}

func newPatchNote(what coordination.ConfigPatched, at int64) ([]byte, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("make the id of an event: %w", err)
	}
	data, err := json.Marshal(what)
	if err != nil {
		return nil, fmt.Errorf("write configuration event: %w", err)
	}
	return json.Marshal(patchNote{id.String(), at, data})
}

// settlePatch tells the log of a change of the file that it was not told of, if it was made.
func (p *Program) settlePatch(ctx context.Context) error {
	path := p.config.path
	note, done, err := config.Unsettled(path)
	if err != nil {
		return fmt.Errorf("look for a change of the configuration: %w", err)
	}
	if note != nil && done {
		if err := p.appendPatch(ctx, note); err != nil {
			return fmt.Errorf("append change of the configuration: %w", err)
		}
	}
	if err := config.Settle(path); err != nil {
		return fmt.Errorf("settle change of the configuration: %w", err)
	}
	return nil
}

func (p *Program) appendPatch(ctx context.Context, text []byte) error {
	var note patchNote
	if err := json.Unmarshal(text, &note); err != nil {
		p.config.logger.Error("what was noted of a change of the configuration cannot be read", "err", err)
		return nil
	}
	id, err := eventstore.ParseID(note.ID)
	if err != nil {
		p.config.logger.Error("what was noted of a change of the configuration cannot be read", "err", err)
		return nil
	}
	_, err = p.log.Append(ctx, eventstore.StreamAppend{Stream: coordination.ConfigPatchStream, Events: []eventstore.NewEvent{
		{ID: id, Type: coordination.TypeConfigPatched, TS: note.TS, Actor: eventstore.ActorHuman, Data: note.Data},
	}})
	return err
}
