package workspace

import "context"

// Tasks reads with a Reader of its own.
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

func (d *Dir) reading() *Reader {
	r, err := d.Begin(context.Background())
	if err != nil {
		panic(err)
	}
	return r
}

// Parsed is how many files were parsed.
func (d *Dir) Parsed() int64 { return d.parsed.Load() }

// CacheBytes is the size of the cache by its own account.
func (d *Dir) CacheBytes() int64 { return d.cache.bytes }

// LookAt sets the limit of entries of a directory.
func (d *Dir) LookAt(entries int) { d.entries = entries }

// Limits that tests exceed.
const (
	Settled  = settled
	Readings = maxReadings
)
