package redaction

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/monitor"
)

// Steps of what follows a redaction, in this order. Each may be done again.
const (
	stepArchives    = "archives"
	stepProjections = "projections"
	stepSearch      = "search"
	stepLines       = "lines"
	stepFiles       = "files"
	stepSpace       = "space"
	stepEnd         = "end"
)

// maxSweeps is how often everything is looked through for a text that was told again meanwhile.
const maxSweeps = 5

// Finish has everything that was made of blanked payloads forget them, for all redactions that are pending, and says so in the log. tell may be nil.
func (r *Redactor) Finish(ctx context.Context, tell func(monitor.RedactionProgress)) (err error) {
	r.busy.Lock()
	defer r.busy.Unlock()
	if tell == nil {
		tell = func(monitor.RedactionProgress) {}
	}
	for {
		pending, err := r.Pending(ctx)
		if err == nil && len(pending) > 0 {
			err = r.forget(ctx, pending, tell)
		}
		r.note(func(p *monitor.RedactionProgress) {
			*p = monitor.RedactionProgress{}
			if err != nil {
				p.Error = err.Error()
			}
		})
		if err != nil || len(pending) == 0 {
			return err
		}
	}
}

// forgetting is one run over everything.
type forgetting struct {
	*Redactor
	tell func(monitor.RedactionProgress)
	done coordination.LogForgotten
	told bool // a text was told again and again, and may have been once more
}

// forget does all steps for these redactions, and ends them.
func (r *Redactor) forget(ctx context.Context, pending []monitor.Redaction, tell func(monitor.RedactionProgress)) error {
	for n := 1; ; n++ {
		f := &forgetting{Redactor: r, tell: tell}
		if err := f.all(ctx, seqsOf(pending)); err != nil {
			return err
		}
		if n == maxSweeps {
			f.told = true
			return f.end(ctx, pending)
		}
		found, err := r.sweep(ctx, pending)
		if err != nil {
			return err
		}
		if !found {
			return f.end(ctx, pending)
		}
		if pending, err = r.Pending(ctx); err != nil {
			return err
		}
	}
}

func seqsOf(pending []monitor.Redaction) (seqs []int64) {
	for i := range pending {
		seqs = append(seqs, pending[i].Seqs...)
	}
	slices.Sort(seqs)
	return slices.Compact(seqs)
}

// at says which step is under way.
func (f *forgetting) at(step string, done, total int64) {
	p := monitor.RedactionProgress{Step: step, Done: done, Total: total}
	f.note(func(now *monitor.RedactionProgress) { *now = p })
	f.tell(p)
}

// all does every step. Where nothing but the space failed the last time, it begins there: a reader that is in its way may be there for long.
func (f *forgetting) all(ctx context.Context, seqs []int64) (err error) {
	if slices.Equal(f.spaceless, seqs) {
		f.done = f.soFar
		return f.space(ctx, seqs)
	}
	if err := f.forgetPast(ctx); err != nil {
		return err
	}
	f.done.Context.EventRole = coordination.RoleObservability
	f.at(stepArchives, 0, 0)
	if f.o.Archives != nil { // first: what is read of the log would have the payloads from there
		manifests, err := f.o.Archives.Forget(ctx, seqs)
		if err != nil {
			return fmt.Errorf("forget in archives: %w", err)
		}
		for i := range manifests {
			f.done.Archives = append(f.done.Archives, manifests[i].File)
		}
	}
	f.at(stepProjections, 0, 0)
	if f.done.Projections, err = f.o.Rebuild(ctx, func(done, total int64) { f.at(stepProjections, done, total) }); err != nil {
		return fmt.Errorf("make tables anew: %w", err)
	}
	f.at(stepSearch, 0, 0)
	if f.o.Search != nil {
		if err := f.o.Search(ctx); err != nil {
			return fmt.Errorf("begin the search file anew: %w", err)
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
			return fmt.Errorf("write files of tasks anew: %w", err)
		}
		f.done.Files = int64(written)
	}
	return f.space(ctx, seqs)
}

// space writes the database anew.
func (f *forgetting) space(ctx context.Context, seqs []int64) error {
	f.at(stepSpace, 0, 0)
	f.spaceless = nil
	if err := f.o.Log.Compact(ctx); err != nil {
		f.spaceless, f.soFar = seqs, f.done
		return fmt.Errorf("give back the space of what was blanked: %w", err)
	}
	return f.forgetPast(ctx) // what was made meanwhile may have been read before
}

// lines overwrites the lines of coordination logs.
func (f *forgetting) lines(ctx context.Context, seqs []int64) error {
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

// holds reports whether a text has any of what is looked for by this process; nil where it looks for nothing.
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

// sweep blanks what has told the texts again since they were looked for, and says whether there was any.
func (r *Redactor) sweep(ctx context.Context, pending []monitor.Redaction) (found bool, err error) {
	for i := range pending {
		p := &pending[i]
		r.mu.Lock()
		s := r.under[p.ID]
		r.mu.Unlock()
		if s == nil || s.texts == nil || len(s.texts.heads) == 0 {
			continue
		}
		next := &search{texts: s.texts, named: s.named, matches: map[int64]monitor.RedactionMatch{}, refused: s.refused, seq: s.seq}
		if err := r.read(ctx, next); err != nil {
			return found, err
		}
		s.seq = next.seq
		if len(next.matches) == 0 {
			continue
		}
		found = true
		r.o.Logger.Info("a text was told again while it was redacted; that is blanked too", "redaction", p.ID, "events", len(next.matches))
		if err := r.blank(ctx, p.ID, &monitor.RedactionOrder{By: p.By, Reason: p.Reason}, next, p.Version); err != nil {
			return found, err
		}
		s.seq = next.seq
	}
	return found, nil
}

// end says in the log that nothing of ours holds the payloads any more.
func (f *forgetting) end(ctx context.Context, pending []monitor.Redaction) error {
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
		if said.Kept, err = f.kept(ctx, texts, true); err != nil {
			return err
		}
		if s != nil {
			for _, seq := range slices.Sorted(keysOf(s.refused)) {
				said.Kept = append(said.Kept, coordination.RedactionTrace{Place: fmt.Sprintf("event %d", seq), Mend: s.refused[seq].Why})
			}
		}
		if f.told && texts != nil {
			said.Kept = append(said.Kept, coordination.RedactionTrace{Place: "newer events", Mend: "somebody goes on telling the text: see that it ends, then redact it again"})
		}
		data, err := json.Marshal(said)
		if err != nil {
			return err
		}
		appends = append(appends, eventstore.StreamAppend{Stream: monitor.RedactionStreams + p.ID, Expect: eventstore.Exactly(p.Version),
			Events: []eventstore.NewEvent{eventstore.NewEvent{Type: coordination.TypeLogForgotten, Data: data}.WithTS(now)}})
	}
	if _, err := f.o.Log.Append(ctx, appends...); err != nil {
		var conflict *eventstore.ConflictError
		if errors.As(err, &conflict) {
			return fmt.Errorf("somebody else is at this redaction: %w", err)
		}
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range pending {
		delete(f.under, pending[i].ID)
		f.o.Logger.Info("what was redacted is forgotten", "redaction", pending[i].ID, "events", len(pending[i].Seqs), "lines", f.done.Lines)
	}
	return nil
}

func (r *Redactor) forgetPast(ctx context.Context) error {
	if r.o.Past == nil {
		return nil
	}
	if err := r.o.Past(ctx); err != nil {
		return fmt.Errorf("give up what is kept of the past: %w", err)
	}
	return nil
}
