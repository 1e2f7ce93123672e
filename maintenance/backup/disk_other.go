//go:build !linux && !darwin

package backup

// Free returns how many bytes the user may still write on the volume of path; known is false where the system does not
// say.
func Free(string) (bytes int64, known bool) { return 0, false }

// Writable reports whether this process may write to a file, or create files in a directory; known is false where
// the system does not say. Nothing is opened or written.
func Writable(string) (ok, known bool) { return false, false }

func ownerOf(string) (uid int, known bool, err error) { return 0, false, nil }
