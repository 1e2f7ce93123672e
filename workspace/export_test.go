package workspace

import "context"

// Tasks reads for an answer of its own.
func (d *Dir) Tasks(agent string) (*Tasks, error) {
	r := d.reading()
	defer r.End()
	return r.Tasks(agent)
}

// Plans is like Tasks.
func (d *Dir) Plans(agent string) ([]Plan, []Fault, error) {
	r := d.reading()
	defer r.End()
	return r.Plans(agent)
}

func (d *Dir) reading() *Reading {
	r, err := d.Begin(context.Background())
	if err != nil {
		panic(err)
	}
	return r
}

// Parsed is how many files have been parsed.
func (d *Dir) Parsed() int64 { return d.parsed.Load() }

// CacheBytes is what the cache takes itself to hold.
func (d *Dir) CacheBytes() int64 { return d.cache.bytes }

// LookAt sets how many entries of a directory are looked at.
func (d *Dir) LookAt(entries int) { d.entries = entries }

// Bounds that tests go beyond.
const (
	Settled  = settled
	Readings = maxReadings
)
