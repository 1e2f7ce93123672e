package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Forget blanks events in the archives that hold them, by rewriting these archives, and returns their current
// manifests. Archives that hold none of the events, or have already blanked them, are left alone. After a crash, call
// it again until it returns nil: from then on no file in the directory contains the payloads. Errors:
// *eventstore.ArchivedError for an archive that cannot be read, *eventstore.DiskFullError.
func (d *Dir) Forget(ctx context.Context, seqs []int64) ([]Manifest, error) {
	d.writing.Lock()
	defer d.writing.Unlock()
	if err := d.sweep(); err != nil {
		return nil, fmt.Errorf("clear archives: %w", err)
	}
	all, err := d.cachedList()
	if err != nil {
		return nil, err
	}
	var rewritten []Manifest
	for i := range all {
		k := &all[i]
		hit := slices.ContainsFunc(seqs, func(seq int64) bool { return seq >= k.First && seq <= k.Last })
		if !hit {
			continue
		}
		if k.err != nil {
			return rewritten, k.err
		}
		held, err := d.holds(ctx, k, seqs)
		if err != nil {
			return rewritten, err
		}
		if !held {
			continue
		}
		m, err := d.rewriteWithout(ctx, &k.Manifest, seqs)
		if err != nil {
			return rewritten, d.diskError(fmt.Errorf("rewrite archive %s: %w", k.File, err))
		}
		rewritten = append(rewritten, m)
	}
	if len(rewritten) == 0 {
		return nil, nil
	}
	if err := d.sweep(); err != nil {
		return rewritten, fmt.Errorf("remove rewritten archives: %w", err)
	}
	return rewritten, nil
}

// holds reports whether an archive has the payload of any of the events.
func (d *Dir) holds(ctx context.Context, k *known, seqs []int64) (bool, error) {
	for _, seq := range seqs {
		if seq < k.First || seq > k.Last {
			continue
		}
		_, at, _ := covering([]known{*k}, seq)
		f, err := d.frame(ctx, &k.Manifest, at)
		if err != nil {
			return false, err
		}
		p, err := f.payload(seq)
		if err != nil {
			return false, d.unreadable(&k.Manifest, err)
		}
		if p.data != nil {
			return true, nil
		}
	}
	return false, nil
}

// rewriteWithout rewrites an archive under a new file name, leaving out the payloads of some events.
func (d *Dir) rewriteWithout(ctx context.Context, old *Manifest, seqs []int64) (Manifest, error) {
	w, err := d.create(nextName(old), old.First, old.Last)
	if err != nil {
		return Manifest{}, err
	}
	w.m.Before = old.Before
	gone := make(map[int64]bool, len(seqs))
	for _, seq := range seqs {
		gone[seq] = true
	}
	err = d.each(ctx, old, func(e *eventstore.Event) error {
		if gone[e.Seq] {
			e.Data, e.Original, e.Salt = nil, nil, nil
		}
		return w.add(e)
	})
	if err != nil {
		return Manifest{}, errors.Join(d.unreadable(old, err), w.drop())
	}
	m, err := w.end()
	if err != nil {
		return Manifest{}, errors.Join(err, w.drop())
	}
	m.CreatedAt = old.CreatedAt
	if err := w.finish(); err != nil {
		return Manifest{}, err
	}
	if err := d.Verify(ctx, m); err != nil {
		return Manifest{}, err
	}
	return m, d.publish(&m)
}

// nextName returns the file name of a rewritten archive: <range>.2.ndjson.zst after the first rewrite, and so on.
func nextName(m *Manifest) string {
	base := rangeName(m.First, m.Last)
	n := 1
	if middle := strings.TrimSuffix(strings.TrimPrefix(m.File, base), archiveSuffix); middle != "" {
		n, _ = strconv.Atoi(middle[1:]) // 0 if the name does not follow our pattern; any other name will do
	}
	return base + "." + strconv.Itoa(n+1) + archiveSuffix
}
