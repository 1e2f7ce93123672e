package migrate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/migrate/openclaw"
)

// coordination takes over the coordination logs of ProntoClaw: who wrote to whom, and what became of tasks and plans.
func (t *taker) coordination(ctx context.Context) error {
	files, err := ndjson.Logs(t.o.From)
	if err != nil {
		t.leave(filepath.Base(ndjson.LogDir("")), openclaw.ReasonUnreadable, err.Error(), "")
		return nil
	}
	var read int64 // of the file
	var importer *ndjson.Importer
	if t.o.Log != nil && len(files) > 0 {
		importer = t.o.NewImporter(func(p ndjson.Progress) {
			t.progressed(p.Bytes - read)
			read = p.Bytes
		})
	}
	for _, file := range files {
		place := filepath.ToSlash(filepath.Join(filepath.Base(filepath.Dir(file)), filepath.Base(file)))
		in := t.source.Open(place)
		if in == nil {
			continue // it is reported
		}
		read = 0
		err := t.coordinationLog(ctx, importer, in, place)
		if err = errors.Join(err, in.Close()); err != nil {
			return err
		}
	}
	return nil
}

// coordinationLog takes over one log; without an importer it is counted.
func (t *taker) coordinationLog(ctx context.Context, importer *ndjson.Importer, in *os.File, place string) error {
	count := t.report.count(Coordination)
	if importer == nil {
		lines, err := t.linesOf(ctx, in)
		count.Found, count.New = count.Found+lines, count.New+lines
		return err
	}
	r, err := importer.Import(ctx, in, place)
	if err != nil {
		return err
	}
	count.Found += r.Lines - r.Blank
	count.New += r.New
	count.Already += r.Duplicates
	if r.Tail > 0 {
		t.leave(place, openclaw.ReasonTorn, fmt.Sprintf("the last line, of %d bytes, is incomplete", r.Tail), "")
	}
	if r.RejectedLines() > 0 {
		var reasons []string
		for _, reason := range slices.Sorted(maps.Keys(r.Rejected)) {
			reasons = append(reasons, fmt.Sprintf("%s %d", reason, r.Rejected[reason]))
		}
		t.leave(place, ReasonInvalidEntry, output.Count(r.RejectedLines(), "line")+" that are no events ("+strings.Join(reasons, ", ")+"), kept as import.rejected",
			"openclawd events query --type import.rejected shows them")
	}
	return t.record.begin(ctx)
}

// linesOf counts the lines of a file that are not blank, in bounded memory.
func (t *taker) linesOf(ctx context.Context, in io.Reader) (lines int64, err error) {
	reader, blank := bufio.NewReaderSize(in, progressStep), true
	for {
		part, err := reader.ReadSlice('\n')
		t.progressed(int64(len(part)))
		blank = blank && strings.TrimSpace(string(part)) == ""
		if full := errors.Is(err, bufio.ErrBufferFull); !full {
			if !blank {
				lines++
			}
			blank = true
		}
		switch {
		case errors.Is(err, io.EOF):
			return lines, ctx.Err()
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return lines, err
		case ctx.Err() != nil:
			return lines, ctx.Err()
		}
	}
}
