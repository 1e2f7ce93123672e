//go:build amd64 || arm64

package sandbox

// Parts of looking at the disk.
var (
	LeastFree = leastFree
	FreeAt    = freeAt
	SizeOf    = sizeOf
)
