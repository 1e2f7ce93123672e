//go:build !linux && !darwin

package bench

// mayOpen reports in time that a process of ours cannot have as many files open as a benchmark takes, where the system tells.
func mayOpen(uint64) error { return nil }
