package workspace

// Parsed is how many files have been parsed.
func (d *Dir) Parsed() int64 { return d.parsed.Load() }

// CacheBytes is what the cache takes itself to hold.
func (d *Dir) CacheBytes() int64 { return d.cache.bytes }

// Bounds that tests go beyond.
const (
	MaxEntries = maxEntries
	Settled    = settled
)
