package workspace

import (
	"context"
	"errors"
)

// Limits of what answers hold in memory.
const (
	DefaultReadBytes = 32 << 20
	maxReadings      = 8
)

// Reader reads the files of one answer. A file that it does not read, because the files before it fill the answer, is a fault with
// ReasonFull. It must be used by one goroutine.
type Reader struct {
	dir  *Dir
	left int64 // bytes
}

// Begin returns a Reader, waiting while too many are active. The caller ends it when its answer has been written.
func (d *Dir) Begin(ctx context.Context) (*Reader, error) {
	select {
	case d.readers <- struct{}{}:
		return &Reader{dir: d, left: d.readBytes}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// End lets the next Reader start.
func (r *Reader) End() { <-r.dir.readers }

// parsedWithin is parsed for files within the limit, which counts their present size whether they are cached or not.
func parsedWithin[T any](r *Reader, f *folder, name string, parse func(text string) T) (value T, err error) {
	info, err := f.statFile(name)
	switch {
	case err != nil:
		return value, err
	case info.Size() > r.left:
		return value, f.refuse(name, ReasonFull)
	}
	r.left -= info.Size()
	return parsedFile(r.dir, f, name, info, parse)
}

// isFull reports whether a file exceeded the limit.
func isFull(err error) bool {
	var refused *RefusedError
	return errors.As(err, &refused) && refused.Reason == ReasonFull
}
