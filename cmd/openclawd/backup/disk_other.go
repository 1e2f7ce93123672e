//go:build !linux && !darwin

package backup

// Free is how many bytes a user may still write where path lies; known is false where the system does not tell.
func Free(string) (bytes int64, known bool) { return 0, false }

// Writable reports whether this process may write to a file, or make files in a directory; known is false where the system does not
// tell. Nothing is opened or written.
func Writable(string) (ok, known bool) { return false, false }
