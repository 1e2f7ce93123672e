//go:build !linux && !darwin

package client

// isOurs reports whether the user that asks owns a file or a directory. Where nobody can tell, nothing is.
func isOurs(string) bool { return false }
