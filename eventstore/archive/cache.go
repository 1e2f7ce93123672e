package archive

import "slices"

// cacheBytes bounds the total unpacked size of cached frames.
const cacheBytes = 16 << 20

// frames is an LRU cache of unpacked frames. A frame larger than the whole cache is not kept.
type frames struct {
	most, bytes int
	recent      []cached // most recently used last
}

type cached struct {
	key   frameKey
	frame *frame
}

// frameKey includes the hash of the archive, because a rewritten archive has different content.
type frameKey struct {
	file, sha256 string
	at           int
}

func (c *frames) get(key frameKey) *frame {
	i := slices.IndexFunc(c.recent, func(x cached) bool { return x.key == key })
	if i < 0 {
		return nil
	}
	found := c.recent[i]
	c.recent = append(slices.Delete(c.recent, i, i+1), found)
	return found.frame
}

func (c *frames) put(key frameKey, f *frame) {
	if f.size() > c.most || c.get(key) != nil {
		return
	}
	c.recent = append(c.recent, cached{key, f})
	c.bytes += f.size()
	n := 0
	for ; c.bytes > c.most; n++ {
		c.bytes -= c.recent[n].frame.size()
	}
	c.recent = slices.Delete(c.recent, 0, n)
}

// keepOnly drops the frames of archives that were removed or rewritten.
func (c *frames) keepOnly(all []known) {
	there := map[[2]string]bool{}
	for i := range all {
		there[[2]string{all[i].File, all[i].SHA256}] = true
	}
	c.recent = slices.DeleteFunc(c.recent, func(x cached) bool {
		gone := !there[[2]string{x.key.file, x.key.sha256}]
		if gone {
			c.bytes -= x.frame.size()
		}
		return gone
	})
}
