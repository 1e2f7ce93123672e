// Package sharedtest tests implementations of shared.Log, and has one in memory for tests of what uses a shared log.
package sharedtest
