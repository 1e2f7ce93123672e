//go:build !linux && !darwin

package main

// mayOpen fails early if processes of ours cannot open as many files as a benchmark needs, where the system tells.
func mayOpen(uint64) error { return nil }
