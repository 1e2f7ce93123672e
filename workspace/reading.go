package workspace

import (
	"context"
	"errors"
)

// Bounds of what answers hold at once.
const (
	DefaultReadBytes = 32 << 20
	maxReadings      = 8
)

// Reading reads for one answer that is made from many files. What it does not read, because the files before it fill the answer, is a
// fault with ReasonFull. It is used by one goroutine.
type Reading struct {
	dir  *Dir
	left int64 // bytes
}

// Begin begins a Reading, of which only some go on at once. Whoever has begun one ends it when its answer has been written.
func (d *Dir) Begin(ctx context.Context) (*Reading, error) {
	select {
	case d.readings <- struct{}{}:
		return &Reading{dir: d, left: d.readBytes}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// End lets the next Reading begin.
func (r *Reading) End() { <-r.dir.readings }

// parsedWithin is parsed for files that fit. It goes by the size that they have when they are looked at, whether they are cached or not.
func parsedWithin[T any](r *Reading, f *folder, name string, parse func(text string) T) (value T, err error) {
	info, err := f.lookAtFile(name)
	switch {
	case err != nil:
		return value, err
	case info.Size() > r.left:
		return value, f.refuse(name, ReasonFull)
	}
	r.left -= info.Size()
	return parsedFile(r.dir, f, name, info, parse)
}

// isFull reports whether there was no room for a file.
func isFull(err error) bool {
	var refused *RefusedError
	return errors.As(err, &refused) && refused.Reason == ReasonFull
}
