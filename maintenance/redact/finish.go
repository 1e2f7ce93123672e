package redact

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/redaction"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/projections/redactions"
)

// Steps after a redaction, in this order. Each may be repeated.
const (
	stepArchives    = "archives"
	stepProjections = "projections"
	stepSearch      = "search"
	stepLines       = "lines"
	stepFiles       = "files"
	stepStored      = "stored"
	stepShared      = "shared"
	stepSpace       = "space"
	stepEnd         = "end"
)

// maxSweeps is how often everything is searched for a text that is being written again meanwhile.
const maxSweeps = 5

// Finish removes blanked payloads from everything derived from them, for all pending redactions, and records that in
// the log. Where nodes share the log, a node that does not write does so for its own files, and the log is told by the
// one that writes, which also removes them from the shared log. tell may be nil.
func (r *Redactor) Finish(ctx context.Context, tell func(redaction.Progress)) (err error) {
	r.busy.Lock()
	defer r.busy.Unlock()
	if tell == nil {
		tell = func(redaction.Progress) {}
	}
	for {
		t, err := r.todo(ctx)
		if err == nil && !t.none() {
			err = r.forget(ctx, t, tell)
		}
		r.updateProgress(func(p *redaction.Progress) {
			*p = redaction.Progress{}
			if err != nil {
				p.Error = err.Error()
			}
		})
		if err != nil || t.none() {
			return err
		}
	}
}

// todo is what is to be forgotten.
type todo struct {
	pending []redactions.Redaction // to be ended in the log
	here    []carriedOut           // to be removed from the files of this node
}

func (t *todo) none() bool { return len(t.pending) == 0 && len(t.here) == 0 }

// seqs returns the events whose payloads go.
func (t *todo) seqs() (seqs []int64) {
	for i := range t.pending {
		seqs = append(seqs, t.pending[i].Seqs...)
	}
	for i := range t.here {
		seqs = append(seqs, t.here[i].seqs...)
	}
	slices.Sort(seqs)
	return slices.Compact(seqs)
}

func (r *Redactor) todo(ctx context.Context) (t todo, err error) {
	if t.here, err = r.notHere(ctx); err != nil || r.follows() {
		return t, err
	}
	t.pending, err = r.Pending(ctx)
	return t, err
}

// cleanup is one run over everything.
type cleanup struct {
	*Redactor
	tell func(redaction.Progress)
	done coordination.LogForgotten
	told bool // a text was written again in each sweep, and may have been once more
}

// forget does all steps for these redactions, and ends them.
func (r *Redactor) forget(ctx context.Context, t todo, tell func(redaction.Progress)) error {
	for n := 1; ; n++ {
		f := &cleanup{Redactor: r, tell: tell}
		if err := f.all(ctx, &t); err != nil {
			return err
		}
		found, err := false, error(nil)
		if f.told = n == maxSweeps; !f.told {
			if found, err = r.sweep(ctx, t.pending); err != nil {
				return err
			}
		}
		if !found {
			if len(t.pending) > 0 {
				err = f.end(ctx, t.pending)
			}
			if err == nil {
				err = r.doneHere(ctx, t.here)
			}
			return err
		}
		if t, err = r.todo(ctx); err != nil {
			return err
		}
	}
}

// at sets the current step.
func (f *cleanup) at(step string, done, total int64) {
	p := redaction.Progress{Step: step, Done: done, Total: total}
	f.updateProgress(func(now *redaction.Progress) { *now = p })
	f.tell(p)
}

// all does every step. If only the last step, the space, failed the last time, it starts there: a reader that blocks
// it may stay for long.
func (f *cleanup) all(ctx context.Context, t *todo) (err error) {
	seqs := t.seqs()
	if slices.Equal(f.spaceless, seqs) {
		f.done = f.soFar
		return f.space(ctx, seqs)
	}
	if err := f.forgetPast(ctx, seqs); err != nil {
		return err
	}
	f.done.Context.EventRole = coordination.RoleObservability
	f.at(stepArchives, 0, 0)
	if f.o.Archives != nil { // first: reads of the log would otherwise get the payloads from there
		manifests, err := f.o.Archives.Forget(ctx, seqs)
		if err != nil {
			return fmt.Errorf("remove from archives: %w", err)
		}
		for i := range manifests {
			f.done.Archives = append(f.done.Archives, manifests[i].File)
		}
	}
	f.at(stepProjections, 0, 0)
	if f.done.Projections, err = f.o.Rebuild(ctx, func(done, total int64) { f.at(stepProjections, done, total) }); err != nil {
		return fmt.Errorf("rebuild tables: %w", err)
	}
	f.at(stepSearch, 0, 0)
	if f.o.Search != nil {
		if err := f.o.Search(ctx); err != nil {
			return fmt.Errorf("rebuild the search file: %w", err)
		}
	}
	f.at(stepLines, 0, 0)
	if err := f.lines(ctx, seqs); err != nil {
		return err
	}
	f.at(stepFiles, 0, 0)
	if f.o.Files != nil {
		written, err := f.o.Files(ctx)
		if err != nil {
			return fmt.Errorf("rewrite task files: %w", err)
		}
		f.done.Files = int64(written)
	}
	if err := f.stored(ctx); err != nil {
		return err
	}
	if err := f.shared(ctx, t.pending); err != nil {
		return err
	}
	return f.space(ctx, seqs)
}

// space rewrites the database file.
func (f *cleanup) space(ctx context.Context, seqs []int64) error {
	f.at(stepSpace, 0, 0)
	f.spaceless = nil
	if err := f.o.Log.Compact(ctx); err != nil {
		f.spaceless, f.soFar = seqs, f.done
		return fmt.Errorf("free the space of blanked payloads: %w", err)
	}
	return f.forgetPast(ctx, seqs) // snapshots built meanwhile may be based on earlier reads
}

// lines overwrites the lines of coordination logs.
func (f *cleanup) lines(ctx context.Context, seqs []int64) error {
	if f.o.Mirrored != nil {
		head, err := f.o.Log.Head(ctx)
		if err == nil {
			err = f.o.Mirrored(ctx, head.Seq)
		}
		if err != nil {
			return fmt.Errorf("wait for the mirror: %w", err)
		}
	}
	ids := make(map[eventstore.ID]bool, len(seqs))
	for _, seq := range seqs {
		e, err := f.o.Log.Event(ctx, seq)
		if err != nil {
			return err
		}
		ids[e.ID] = e.Actor == eventstore.ActorImport || e.Type == coordination.TypeImportRejected
	}
	report, err := f.o.Lines(ctx, ndjson.BlankOptions{Log: f.o.Log, IDs: ids, Holds: f.holds(), Finished: f.o.Alone})
	f.done.Lines = report.Lines
	return err
}

// holds reports whether a text contains any text that this process searches for; nil if it searches for none.
func (r *Redactor) holds() func([]byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*needles
	for _, s := range r.under {
		if s.texts != nil {
			all = append(all, s.texts)
		}
	}
	if all == nil {
		return nil
	}
	return func(text []byte) bool {
		return slices.ContainsFunc(all, func(n *needles) bool { return n.inRaw(text) })
	}
}

// sweep blanks events that have repeated the texts since the search, and reports whether there were any.
func (r *Redactor) sweep(ctx context.Context, pending []redactions.Redaction) (found bool, err error) {
	for i := range pending {
		p := &pending[i]
		r.mu.Lock()
		s := r.under[p.ID]
		r.mu.Unlock()
		if s == nil || s.texts == nil || len(s.texts.heads) == 0 {
			continue
		}
		next := &search{texts: s.texts, named: s.named, matches: map[int64]redaction.Match{}, refused: s.refused, seq: s.seq}
		if err := r.read(ctx, next); err != nil {
			return found, err
		}
		s.seq = next.seq
		if len(next.matches) == 0 {
			continue
		}
		found = true
		r.o.Logger.Info("a text was written again while it was redacted; blanked it too", "redaction", p.ID, "events", len(next.matches))
		if err := r.blank(ctx, p.ID, &redaction.Order{By: p.By, Reason: p.Reason}, next, p.Version); err != nil {
			return found, err
		}
		s.seq = next.seq
	}
	return found, nil
}

// end records in the log that none of our files holds the payloads any more.
func (f *cleanup) end(ctx context.Context, pending []redactions.Redaction) error {
	f.at(stepEnd, 0, 0)
	var appends []eventstore.StreamAppend
	now := f.o.Now().UnixMilli()
	for i := range pending {
		p := &pending[i]
		f.mu.Lock()
		s := f.under[p.ID]
		f.mu.Unlock()
		var texts *needles
		if s != nil {
			texts = s.texts
		}
		said := f.done
		said.RedactionID = p.ID
		var err error
		if said.Kept, err = f.remaining(ctx, texts, true); err != nil {
			return err
		}
		if s != nil {
			for _, seq := range slices.Sorted(keysOf(s.refused)) {
				said.Kept = append(said.Kept, coordination.RedactionTrace{Place: fmt.Sprintf("event %d", seq), Hint: s.refused[seq].Why})
			}
		}
		if f.told && texts != nil {
			said.Kept = append(said.Kept, coordination.RedactionTrace{Place: "newer events", Hint: "the text is still being written: stop its source, then redact it again"})
		}
		a := eventstore.StreamAppend{Stream: redactions.Streams + p.ID, Expect: eventstore.Exactly(p.Version)}
		if err := a.Add(eventstore.NewEvent{Type: coordination.TypeLogForgotten}, said, now); err != nil {
			return err
		}
		appends = append(appends, a)
	}
	if _, err := f.o.Log.Append(ctx, appends...); err != nil {
		var conflict *eventstore.ConflictError
		if errors.As(err, &conflict) {
			return fmt.Errorf("another process works on this redaction: %w", err)
		}
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range pending {
		delete(f.under, pending[i].ID)
		f.o.Logger.Info("finished redaction", "redaction", pending[i].ID, "events", len(pending[i].Seqs), "lines", f.done.Lines)
	}
	return nil
}

func (r *Redactor) forgetPast(ctx context.Context, seqs []int64) error {
	if r.o.Past == nil {
		return nil
	}
	if err := r.o.Past(ctx, seqs); err != nil {
		return fmt.Errorf("drop snapshots: %w", err)
	}
	return nil
}
