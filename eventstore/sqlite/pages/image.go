package pages

import (
	"errors"
	"io"
	"slices"
)

// Image is a complete state of a database: layers on each other. It does not change and may be used concurrently until
// it is closed.
type Image struct {
	layers []*Layer // each retained
	flat   []place  // of each page, by the first layers
	low    int      // number of layers in flat
	size   uint32
}

// place is where a page is: the number of its layer in the upper half, its slot + 1 in the lower. 0: in no layer.
type place uint64

func placeAt(layer int, slot uint32) place { return place(layer)<<32 | place(slot+1) }

// NewImage puts layers on each other, the lowest first.
func NewImage(layers ...*Layer) *Image {
	i := &Image{}
	for _, l := range layers {
		i.layers = append(i.layers, l.Retain())
		i.size = l.size
	}
	i.flatten()
	return i
}

// flatten looks every page up once. A page beyond the end of a layer is gone, even if a later layer is longer.
func (i *Image) flatten() {
	longest := i.size
	i.flat = slices.Grow(i.flat, int(longest))[:0]
	for n, l := range i.layers {
		i.flat = slices.Grow(i.flat, int(l.size))
		if int(l.size) < len(i.flat) {
			i.flat = i.flat[:l.size]
		}
		for len(i.flat) < int(l.size) {
			i.flat = append(i.flat, 0)
		}
		for slot, page := range l.numbers {
			if page <= l.size {
				i.flat[page-1] = placeAt(n, uint32(slot))
			}
		}
	}
	i.low = len(i.layers)
}

// searched is the number of layers in which a page is searched before the image is flattened.
const searched = 12

// with returns the image with a further layer, which must be sealed.
func (i *Image) with(l *Layer) *Image {
	next := i.Clone()
	next.layers = append(next.layers, l.Retain())
	next.size = l.size
	if shrunk := l.size < i.size; shrunk || len(next.layers)-next.low > searched {
		next.flat = nil
		next.flatten()
	}
	return next
}

// Clone returns the same image, to be closed on its own.
func (i *Image) Clone() *Image {
	for _, l := range i.layers {
		l.Retain()
	}
	return &Image{layers: slices.Clone(i.layers), flat: i.flat, low: i.low, size: i.size}
}

// Close releases its layers.
func (i *Image) Close() (err error) {
	for _, l := range i.layers {
		err = errors.Join(err, l.Release())
	}
	i.layers, i.flat = nil, nil
	return err
}

// Top is the highest layer; nil in an empty image. It is retained by the image only.
func (i *Image) Top() *Layer {
	if len(i.layers) == 0 {
		return nil
	}
	return i.layers[len(i.layers)-1]
}

// Bytes is the size of the database.
func (i *Image) Bytes() int64 { return int64(i.size) * Size }

// Damaged reports whether a read of a layer has found another content than the one written.
func (i *Image) Damaged() bool { return slices.ContainsFunc(i.layers, (*Layer).Damaged) }

// read returns a page, from 1.
func (i *Image) read(page uint32, into []byte) error {
	for n := len(i.layers) - 1; n >= i.low; n-- {
		if slot, found := i.layers[n].slots[page]; found {
			return i.layers[n].read(slot, into)
		}
	}
	if int(page) > len(i.flat) || i.flat[page-1] == 0 {
		return errUnknown
	}
	at := i.flat[page-1]
	return i.layers[at>>32].read(uint32(at)-1, into)
}

// WriteTo writes the database.
func (i *Image) WriteTo(w io.Writer) (n int64, err error) {
	const batch = 64
	content := make([]byte, batch*Size)
	for from := uint32(1); from <= i.size; from += batch {
		used := content[:min(batch, i.size-from+1)*Size]
		for at := 0; at < len(used); at += Size {
			err := i.read(from+uint32(at/Size), used[at:at+Size])
			if errors.Is(err, errUnknown) {
				clear(used[at : at+Size])
			} else if err != nil {
				return n, err
			}
		}
		wrote, err := w.Write(used)
		if n += int64(wrote); err != nil {
			return n, err
		}
	}
	return n, nil
}
