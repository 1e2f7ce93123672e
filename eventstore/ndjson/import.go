package ndjson

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Default sizes of one append: large enough to make its fsync cheap, small enough to leave room in the queue for
// others.
const (
	DefaultBatchEvents = 1000
	DefaultBatchBytes  = 4 << 20
)

// Options state where an import stores events and how lines map to events. Log and Stream are required.
type Options struct {
	Log eventstore.Store
	// Restorer is used for full exports that continue the log. nil: their events are appended.
	Restorer eventstore.Restorer
	// Stream returns the stream that an event belongs to. It is called from another goroutine than Import's, but never
	// concurrently.
	Stream func(typ, agentID string, data, original []byte) string
	// Reject converts a rejected line to an event. nil: such lines are only counted. It is called like Stream; line
	// counts from 1.
	Reject func(file string, line int64, r Rejection) (typ string, data json.RawMessage)
	// Progress is called after each append. It may be nil.
	Progress func(Progress)
	// BatchEvents and BatchBytes bound one append. A longer line is appended alone.
	BatchEvents int
	BatchBytes  int
	Logger      *slog.Logger
}

// Importer imports coordination logs into an event store. The events keep the order of the lines.
//
// The id of an event is derived from its time, the text of its line (trimmed, as UTF-8), and how often that text was
// seen before by this Importer: two equal lines are two events, and the same logs give the same ids however they are
// spread over files. To import a set of logs, or to follow one, use a single Importer from the beginning. It remembers
// 64 bits of each text's hash; the chance that two of ten million texts collide is 3 in a million, and then only the
// later one starts counting at 1.
//
// A line with its own id (our mirror writes them) or from a full export keeps it, unless the store knows the id for
// another event: then it gets the derived one, and its Original names the id that it claimed.
//
// An Importer is used by one goroutine at a time.
type Importer struct {
	opts  Options
	lines *lines
	base  int64      // see Resume
	seen  *seenTexts // since the base
}

// New returns an Importer that has seen no lines.
func New(o Options) *Importer {
	o.BatchEvents = cmp.Or(o.BatchEvents, DefaultBatchEvents)
	o.BatchBytes = cmp.Or(o.BatchBytes, DefaultBatchBytes)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Importer{opts: o, lines: newLines(nil), seen: newSeenTexts()}
}

// Resume makes an Importer continue an earlier reading: every line before is stored with a seq up to base, and no
// later line is. Then
//
//   - a line whose id is stored up to base is an older, equal one, and the next id of such lines is tried;
//   - a line whose id is stored after base is this very line: it was stored before a restart and only counts as a
//     duplicate;
//   - a line whose id is not stored is new.
//
// Therefore a resumed reading is exact however much was stored after base, and keeps in memory only what it has read
// since. Base 0 means a reading from the beginning.
func (im *Importer) Resume(base int64) {
	if err := im.seen.close(); err != nil {
		im.opts.Logger.Warn("cannot close temporary files of an import", "err", err)
	}
	im.base, im.seen = base, newSeenTexts()
}

// ImportFiles imports files in the given order, which should be oldest first, as returned by Logs. It stops at the
// first error and reports what was stored until then, including part of the failed file.
//
// A log that is rotated between Logs and this call is missed under its new name; importing again finds it and adds
// only that.
func (im *Importer) ImportFiles(ctx context.Context, paths []string) (Report, error) {
	var report Report
	for i, path := range paths {
		file, err := im.importFile(ctx, path, Progress{File: i + 1, Files: len(paths)})
		report.Files = append(report.Files, file)
		if err != nil {
			return report, err
		}
	}
	return report, nil
}

func (im *Importer) importFile(ctx context.Context, path string, p Progress) (FileReport, error) {
	p.Name = path
	f, err := os.Open(path)
	if err != nil {
		return p.FileReport, fmt.Errorf("import: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil {
		p.Size = info.Size()
	}
	return im.run(ctx, part{in: f, name: path}, p)
}

// Import imports one log; name is used in reports. A last line without a line feed is imported if it is complete JSON,
// and left alone otherwise (FileReport.Tail): the producer may still complete it.
//
// After an error, including ctx's, everything reported is stored. The same Importer may continue from
// FileReport.Bytes; only a new one may start over. Import returns only after r.Read has returned; close r to unblock a
// Read.
func (im *Importer) Import(ctx context.Context, r io.Reader, name string) (FileReport, error) {
	return im.run(ctx, part{in: r, name: name}, Progress{FileReport: FileReport{Name: name}, File: 1, Files: 1})
}

// part is a run of lines of one log.
type part struct {
	in     io.Reader
	name   string // path of the log
	before int64  // lines of the log before it
	closed bool   // a last line without a line feed will never be completed
}

// run reads, parses and hashes in one goroutine and stores in this one, to use two cores.
func (im *Importer) run(ctx context.Context, from part, p Progress) (FileReport, error) {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	var (
		batches = make(chan *batch)
		readErr error
	)
	go func() {
		defer close(batches)
		readErr = im.read(reading, from, batches)
	}()

	var (
		err      error
		unstored []*batch
	)
	for b := range batches {
		if err == nil {
			err = im.store(ctx, b)
		}
		if err != nil {
			stop()
			unstored = append(unstored, b)
			continue
		}
		p.add(b.report)
		if im.opts.Progress != nil {
			im.opts.Progress(Progress{FileReport: p.snapshot(), Size: p.Size, File: p.File, Files: p.Files})
		}
	}
	for _, b := range unstored {
		err = cmp.Or(err, im.forget(b))
	}
	if err = cmp.Or(err, readErr); err != nil {
		return p.FileReport, fmt.Errorf("import %s after line %d: %w", p.Name, p.Lines, err)
	}
	im.opts.Logger.DebugContext(ctx, "log imported", "file", p.Name, "lines", p.Lines, "new", p.New, "duplicates", p.Duplicates,
		"rejected", p.RejectedLines(), "tail", p.Tail)
	return p.FileReport, nil
}
